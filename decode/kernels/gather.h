/*
 * Moves blocks from the parser's memory to a group, and their DC apart. A kernel that includes this
 * defines how ones are counted and 64 bytes copied, STK_COUNT_ONES and STK_COPY_64, and TARGET, the
 * attributes of its target.
 */
#pragma once

#include <string.h>

#include "decode/kernels/planes.h"

/* Moves the wide values of the block at `at`. Returns its DC. `at->wide` moves on. */
static __attribute__((noinline)) int stk_gather_wide(struct stk_gathering *at, uint32_t end, int dc,
                                                     unsigned has_dc)
{
    uint32_t first = (uint32_t)(at->values - at->values_base);
    uint32_t to_first = (uint32_t)(at->to_values - at->to_values_base);
    for (; at->wide->at < end; at->wide++) {
        uint32_t place = at->wide->at - first;
        if (place < has_dc) {
            dc = at->wide->value;
            continue;
        }
        at->to_values[place - has_dc] = at->wide->value < 0 ? -STK_FORM_LARGEST : STK_FORM_LARGEST;
        *at->to_wide++ = (struct stk_wide){to_first + place - has_dc, at->wide->value};
    }
    return dc;
}

/* Pointers that move on with each block stay in registers; the others, in memory, are used seldom.
 */
TARGET static void stk_gather_blocks(struct stk_gathering *at, size_t blocks)
{
    const uint64_t *masks = at->masks;
    const int8_t *values = at->values;
    int8_t *to = at->to_values;
    uint32_t next_wide = at->wide->at;
    for (size_t i = 0; i < blocks; i++) {
        uint64_t mask = masks[i];
        unsigned has_dc = mask & 1, count = (unsigned)STK_COUNT_ONES(mask);
        int dc = *values & -(int)has_dc;
        uint32_t end = (uint32_t)(values - at->values_base) + count;
        STK_COPY_64(to, values + has_dc);
        if (__builtin_expect(next_wide < end, 0)) {
            at->values = values;
            at->to_values = to;
            dc = stk_gather_wide(at, end, dc, has_dc);
            next_wide = at->wide->at;
        }
        at->to_masks[i] = mask & ~UINT64_C(1);
        at->to_dc[i] = (int16_t)dc;
        values += count;
        to += count - has_dc;
    }
    at->masks += blocks;
    at->to_masks += blocks;
    at->to_dc += blocks;
    at->values = values;
    at->to_values = to;
}
