/*
 * For each byte of flags, the numbers of the flagged places, one behind the other: the indices of a
 * look-up of bytes that brings those places together. The first one is in the lowest byte. Bytes
 * behind the last one mean nothing.
 */
#pragma once

#include <stdint.h>

#define STK_FLAG(m, i) ((m) >> (i)&1)
#define STK_FLAGS_4(m) (STK_FLAG(m, 0) + STK_FLAG(m, 1) + STK_FLAG(m, 2) + STK_FLAG(m, 3))
/* The places of four flags: each one behind the flagged ones below it. */
#define STK_GATHER_4(m)                                                                            \
    ((uint64_t)(STK_FLAG(m, 1) << 8 * STK_FLAG(m, 0)) |                                            \
     (uint64_t)(2 * STK_FLAG(m, 2)) << 8 * (STK_FLAG(m, 0) + STK_FLAG(m, 1)) |                     \
     (uint64_t)(3 * STK_FLAG(m, 3)) << 8 * (STK_FLAG(m, 0) + STK_FLAG(m, 1) + STK_FLAG(m, 2)))
#define STK_GATHER(m)                                                                              \
    (STK_GATHER_4((m)&15) | (STK_GATHER_4((m) >> 4) + 0x04040404u) << 8 * STK_FLAGS_4((m)&15))
#define STK_GATHERS_4(m)                                                                           \
    STK_GATHER(m), STK_GATHER((m) + 1), STK_GATHER((m) + 2), STK_GATHER((m) + 3)
#define STK_GATHERS_16(m)                                                                          \
    STK_GATHERS_4(m), STK_GATHERS_4((m) + 4), STK_GATHERS_4((m) + 8), STK_GATHERS_4((m) + 12)
#define STK_GATHERS_64(m)                                                                          \
    STK_GATHERS_16(m), STK_GATHERS_16((m) + 16), STK_GATHERS_16((m) + 32), STK_GATHERS_16((m) + 48)

static const uint64_t stk_gathers[256] = {STK_GATHERS_64(0), STK_GATHERS_64(64),
                                          STK_GATHERS_64(128), STK_GATHERS_64(192)};
