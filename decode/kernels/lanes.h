/*
 * Several cursors in lock-step: one look-up of each in turn, so that the processor works on one
 * while it waits for another one's memory. Only for files that define a stk_lockstep for a kind of
 * processor; such a file defines the functions that are declared first.
 *
 * Only rare cases branch on the data, since the processor cannot predict where a block ends. Each
 * step adds to the mask of this block and clears the next one. At the block's end the mask's place
 * moves on by one, the position returns to 0, and the next table is that of the next block.
 */
#pragma once

#include "decode/kernels/lane.h"

/* Moves on to the next block if the state says that this one has ended. Without a branch. */
STK_LANE_INLINE void stk_lane_end_block(struct stk_lane *lane);
STK_LANE_INLINE unsigned stk_count_values(uint64_t entry);
/* Shifts by the lowest six bits of the count. */
STK_LANE_INLINE uint64_t stk_shift_left(uint64_t word, uint64_t count);

/* Does what a look-up cannot do: mostly wide values. */
STK_LANE_INLINE bool stk_lane_odd(struct stk_lane *lane, struct stk_cursor *cursor, uint64_t entry)
{
    unsigned length = stk_open_length(entry), size = stk_open_size(entry);
    unsigned place = (unsigned)(lane->state >> 8 & 63) + stk_open_run(entry);
    if (__builtin_expect(!stk_entry_is_open(entry) || place >= STK_BLOCK_SIZE - 1, 0)) {
        return stk_lane_symbol(lane, cursor);
    }
    lane->state += length;
    stk_lane_refill(lane);
    int value = stk_value_of((unsigned)(lane->window >> (64 - size)), size);
    if (size > STK_SMALL_BITS) {
        stk_cursor_note_wide(cursor, lane->values, value);
    }
    *lane->values++ = (int8_t)value;
    *lane->masks |= UINT64_C(1) << place;
    lane->window <<= size;
    lane->state = (lane->state & 7) + size + ((uint64_t)(place + 1) << 8);
    lane->table = lane->slot->ac;
    return true;
}

STK_LANE_INLINE bool stk_lane_step(struct stk_lane *lane, struct stk_cursor *cursor)
{
    uint64_t entry = lane->table[lane->window >> (64 - STK_TABLE_BITS)];
    uint64_t state = lane->state + entry;
    if (__builtin_expect((state & STK_ENTRY_ODD) != 0, 0)) {
        return stk_lane_odd(lane, cursor, entry);
    }
    uint32_t values = (uint32_t)(entry >> 16);
    memcpy(lane->values, &values, sizeof values);
    lane->window <<= entry & 63;
    *lane->masks |= stk_shift_left(stk_entry_mask(entry), lane->state >> 8);
    lane->masks[1] = 0;
    lane->values += stk_count_values(entry);
    lane->table = (const uint64_t *)((uintptr_t)lane->slot->ac + stk_entry_next(entry));
    lane->state = state;
    stk_lane_end_block(lane);
    return true;
}

STK_LANE_INLINE bool stk_lane_goes_on(const struct stk_lane *lane, const struct stk_cursor *cursor)
{
    return (int)(lane->in < cursor->in_end) & (int)(lane->masks < cursor->masks_end);
}

/* Does one step of each lane. Returns the number of the lane that cannot read on, or -1. `count` is
 * a constant after inlining, and absent lanes cost nothing. */
STK_LANE_INLINE int stk_lanes_step(struct stk_lane *a, struct stk_lane *b, struct stk_lane *c,
                                   struct stk_lane *d, struct stk_cursor *const *cursors,
                                   unsigned count)
{
    if (!stk_lane_step(a, cursors[0])) {
        return 0;
    }
    if (count > 1 && !stk_lane_step(b, cursors[1])) {
        return 1;
    }
    if (count > 2 && !stk_lane_step(c, cursors[2])) {
        return 2;
    }
    return count > 3 && !stk_lane_step(d, cursors[3]) ? 3 : -1;
}

#define STK_LEAVE(lane, number)     stk_lane_leave(lane, cursors[number])
#define STK_CAN_GO_ON(lane, number) go_on &= stk_lane_goes_on(lane, cursors[number])
#define STK_STEP_ALL                                                                               \
    if ((stopped = stk_lanes_step(&a, &b, &c, &d, cursors, count)) >= 0) {                         \
        break;                                                                                     \
    }

STK_LANE_INLINE int stk_lanes_run(struct stk_cursor *const *cursors, const unsigned count)
{
    struct stk_lane a, b, c, d;
    int stopped = -1;
    bool go_on = true;
    STK_EACH_LANE(STK_ENTER);
    for (;;) {
        STK_EACH_LANE(STK_CAN_GO_ON);
        if (!go_on) {
            break;
        }
        STK_EACH_LANE(STK_REFILL);
        STK_STEP_ALL
        STK_STEP_ALL
        STK_STEP_ALL
        STK_STEP_ALL
        if (STK_REFILL_STEPS > 4) {
            STK_STEP_ALL
        }
    }
    STK_EACH_LANE(STK_LEAVE);
    return stopped;
}
