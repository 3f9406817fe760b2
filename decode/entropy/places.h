/* Where the coefficient of a row and column stands in zigzag order: as a constant. */
#ifndef STK_DECODE_ENTROPY_PLACES_H
#define STK_DECODE_ENTROPY_PLACES_H

/* Behind the d diagonals above; every other one is walked downwards. */
#define STK_DIAGONALS(d) ((d) * ((d) + 1) / 2)
#define STK_PLACE_UPPER(r, c)                                                                      \
    (STK_DIAGONALS((r) + (c)) + ((r) + (c)) % 2 * (r) + (1 - ((r) + (c)) % 2) * (c))
/* Below the middle it is the mirror image. */
#define STK_PLACE(r, c)                                                                            \
    ((r) + (c) < 8 ? STK_PLACE_UPPER(r, c) : 63 - STK_PLACE_UPPER(7 - (r), 7 - (c)))

#endif
