/*
 * Moves blocks from where the parser left them to a group, DC apart. For the kernels, which say how
 * ones are counted: STK_COUNT_ONES, and STK_GATHER_INLINE.
 */
#ifndef STK_DECODE_FORM_GATHER_H
#define STK_DECODE_FORM_GATHER_H

#include <string.h>

#include "decode/form/planes.h"

/* Values of a block that no byte holds; returns its DC's. */
static inline int stk_gather_wide(struct stk_gathering *at, uint32_t end, int dc, unsigned has_dc)
{
    uint32_t first = (uint32_t)(at->values - at->values_base);
    uint32_t to_first = (uint32_t)(at->to_values - at->to_values_base);
    for (; at->wide->at < end; at->wide++) {
        uint32_t place = at->wide->at - first;
        if (place < has_dc) {
            dc = at->wide->value;
            continue;
        }
        at->to_values[place - has_dc] = at->wide->value < 0 ? -127 : 127;
        *at->to_wide++ = (struct stk_wide){to_first + place - has_dc, at->wide->value};
    }
    return dc;
}

STK_GATHER_INLINE void stk_gather_block(struct stk_gathering *at)
{
    uint64_t mask = *at->masks++;
    unsigned has_dc = mask & 1, count = (unsigned)STK_COUNT_ONES(mask);
    int dc = *at->values & -(int)has_dc;
    uint32_t end = (uint32_t)(at->values - at->values_base) + count;
    memcpy(at->to_values, at->values + has_dc, 64);
    if (__builtin_expect(at->wide->at < end, 0)) {
        dc = stk_gather_wide(at, end, dc, has_dc);
    }
    *at->to_masks++ = mask & ~UINT64_C(1);
    *at->to_dc++ = (int16_t)dc;
    at->values += count;
    at->to_values += count - has_dc;
}

STK_GATHER_INLINE void stk_gather_blocks(struct stk_gathering *gathering, size_t blocks)
{
    struct stk_gathering at = *gathering;
    for (size_t i = 0; i < blocks; i++) {
        stk_gather_block(&at);
    }
    *gathering = at;
}

#endif
