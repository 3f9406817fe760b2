/*
 * For each byte of a mask, the index of the value that goes to each of its eight places. A one has
 * the count of ones before it. A zero has the index that gives a zero in a look-up of bytes. Also
 * the place in zigzag order of each coefficient of a block.
 */
#pragma once

#include <stdint.h>

#define STK_NO_RANK    0x80
#define STK_BIT(m, i)  ((m) >> (i)&1)
#define STK_BITS_3(m)  (STK_BIT(m, 0) + STK_BIT(m, 1) + STK_BIT(m, 2))
#define STK_BITS_6(m)  (STK_BITS_3(m) + STK_BITS_3((m) >> 3))
#define STK_ONES(m)    (STK_BITS_6(m) + STK_BIT(m, 6)) /* of seven bits */
#define STK_RANK(m, i) (STK_BIT(m, i) ? STK_ONES((m) & ((1 << (i)) - 1)) : STK_NO_RANK)
#define STK_RANKS(m)                                                                               \
    {                                                                                              \
        STK_RANK(m, 0), STK_RANK(m, 1), STK_RANK(m, 2), STK_RANK(m, 3), STK_RANK(m, 4),            \
            STK_RANK(m, 5), STK_RANK(m, 6), STK_RANK(m, 7)                                         \
    }
#define STK_RANKS_4(m) STK_RANKS(m), STK_RANKS((m) + 1), STK_RANKS((m) + 2), STK_RANKS((m) + 3)
#define STK_RANKS_16(m)                                                                            \
    STK_RANKS_4(m), STK_RANKS_4((m) + 4), STK_RANKS_4((m) + 8), STK_RANKS_4((m) + 12)
#define STK_RANKS_64(m)                                                                            \
    STK_RANKS_16(m), STK_RANKS_16((m) + 16), STK_RANKS_16((m) + 32), STK_RANKS_16((m) + 48)

/* One more than there are bytes, as sixteen bytes of each may be read. */
static const uint8_t stk_ranks[257][8] = {STK_RANKS_64(0), STK_RANKS_64(64), STK_RANKS_64(128),
                                          STK_RANKS_64(192)};

/* `each` applied to the places of the upper and the lower half of a block, row by row. */
#define STK_PLACES_UPPER(each, x)                                                                  \
    each(x, 0), each(x, 1), each(x, 5), each(x, 6), each(x, 14), each(x, 15), each(x, 27),         \
        each(x, 28), each(x, 2), each(x, 4), each(x, 7), each(x, 13), each(x, 16), each(x, 26),    \
        each(x, 29), each(x, 42), each(x, 3), each(x, 8), each(x, 12), each(x, 17), each(x, 25),   \
        each(x, 30), each(x, 41), each(x, 43), each(x, 9), each(x, 11), each(x, 18), each(x, 24),  \
        each(x, 31), each(x, 40), each(x, 44), each(x, 53)
#define STK_PLACES_LOWER(each, x)                                                                  \
    each(x, 10), each(x, 19), each(x, 23), each(x, 32), each(x, 39), each(x, 45), each(x, 52),     \
        each(x, 54), each(x, 20), each(x, 22), each(x, 33), each(x, 38), each(x, 46), each(x, 51), \
        each(x, 55), each(x, 60), each(x, 21), each(x, 34), each(x, 37), each(x, 47), each(x, 50), \
        each(x, 56), each(x, 59), each(x, 61), each(x, 35), each(x, 36), each(x, 48), each(x, 49), \
        each(x, 57), each(x, 58), each(x, 62), each(x, 63)
