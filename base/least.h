/* The smaller of two numbers, each of which is evaluated once. */
#pragma once

#include <stdint.h>

static inline uint64_t stk_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline int64_t stk_least_signed(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
