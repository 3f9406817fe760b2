/* The place in zigzag order of the coefficient of a row and column, as a constant. */
#pragma once

/* The place behind the first d diagonals; every other diagonal is walked downwards. */
#define STK_DIAGONALS(d) ((d) * ((d) + 1) / 2)
#define STK_PLACE_UPPER(r, c)                                                                      \
    (STK_DIAGONALS((r) + (c)) + ((r) + (c)) % 2 * (r) + (1 - ((r) + (c)) % 2) * (c))
/* The lower half is the mirror image of the upper one. */
#define STK_PLACE(r, c)                                                                            \
    ((r) + (c) < 8 ? STK_PLACE_UPPER(r, c) : 63 - STK_PLACE_UPPER(7 - (r), 7 - (c)))
