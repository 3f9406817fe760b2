/* Counts the ones of a word in plain operations: without an instruction for it, compilers would
 * call a function. */
#pragma once

#include <stdint.h>

static inline unsigned stk_count_ones(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}
