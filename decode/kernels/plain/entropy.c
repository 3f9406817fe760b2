/* The lock-step and the way to a block's coefficients, for any processor. */
#include "decode/common/zigzag.h"
#include "decode/kernels/kernels.h"

#include "decode/kernels/lanes.h"

/* One of two, and no compiler makes a branch of it. */
STK_LANE_INLINE uint64_t choose(uint64_t ended, uint64_t then, uint64_t otherwise)
{
    return otherwise ^ ((otherwise ^ then) & ended);
}

STK_LANE_INLINE void stk_lane_end_block(struct stk_lane *lane)
{
    const struct stk_mcu_slot *slot = lane->slot;
    uint64_t ended = -(lane->state >> 15 & 1);
    lane->masks -= (int64_t)ended;
    lane->state &= ~ended | 0xff;
    lane->table =
        (const void *)(uintptr_t)choose(ended, (uintptr_t)slot->next_dc, (uintptr_t)lane->table);
    lane->slot = (const void *)(uintptr_t)choose(ended, (uintptr_t)slot->next, (uintptr_t)slot);
}

STK_LANE_INLINE unsigned stk_count_values(uint64_t entry)
{
    return stk_entry_values(entry);
}

STK_LANE_INLINE uint64_t stk_shift_left(uint64_t word, uint64_t count)
{
    return word << (count & 63);
}

int stk_plain_lockstep(struct stk_cursor *const *cursors, unsigned count)
{
    return STK_RUN_LANES(stk_lanes_run, cursors, count);
}

unsigned stk_plain_expand(int16_t block[64], uint64_t mask, const int8_t *values)
{
    unsigned count = 0;
    for (; mask != 0; mask &= mask - 1) {
        int value = (uint8_t)values[count++];
        block[stk_zigzag[__builtin_ctzll(mask)]] = (int16_t)((value ^ 0x80) - 0x80);
    }
    return count;
}
