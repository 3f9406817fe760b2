/*
 * A lane: a cursor on its way through a scan, with its changing parts in registers. Only for files
 * that define a stk_lockstep.
 */
#pragma once

#include "decode/huffman/cursor.h"

#define STK_LANE_INLINE static inline __attribute__((always_inline))

/* A cursor's changing parts, in registers as far as there are enough. */
struct stk_lane {
    uint64_t window; /* the next bits, from the highest */
    uint64_t state;
    const uint64_t *table;
    const struct stk_mcu_slot *slot;
    const uint8_t *in;
    int8_t *values;
    uint64_t *masks;
};

STK_LANE_INLINE void stk_lane_refill(struct stk_lane *lane)
{
    lane->in += (lane->state & 0xff) >> 3;
    lane->state &= STK_ENTRY_POSITION | 7;
    lane->window = stk_load_bits(lane->in) << (lane->state & 63);
}

STK_LANE_INLINE void stk_lane_enter(struct stk_lane *lane, const struct stk_cursor *cursor)
{
    lane->state = cursor->state;
    lane->slot = cursor->slot;
    lane->in = cursor->in;
    lane->values = cursor->values;
    lane->masks = cursor->masks;
    lane->table = cursor->table;
    stk_lane_refill(lane);
}

STK_LANE_INLINE void stk_lane_leave(const struct stk_lane *lane, struct stk_cursor *cursor)
{
    cursor->state = lane->state;
    cursor->table = lane->table;
    cursor->slot = lane->slot;
    cursor->in = lane->in;
    cursor->values = lane->values;
    cursor->masks = lane->masks;
}

STK_LANE_INLINE bool stk_lane_symbol(struct stk_lane *lane, struct stk_cursor *cursor)
{
    stk_lane_leave(lane, cursor);
    bool read = stk_cursor_symbol(cursor);
    stk_lane_enter(lane, cursor);
    return read;
}

/* Does something for each of `count` lanes, by its number. Compilers keep lanes in registers only
 * if each is a variable of its own, so the code for each is written out. */
#define STK_EACH_LANE(act)                                                                         \
    do {                                                                                           \
        act(&a, 0);                                                                                \
        if (count > 1) {                                                                           \
            act(&b, 1);                                                                            \
        }                                                                                          \
        if (count > 2) {                                                                           \
            act(&c, 2);                                                                            \
        }                                                                                          \
        if (count > 3) {                                                                           \
            act(&d, 3);                                                                            \
        }                                                                                          \
    } while (0)
#define STK_ENTER(lane, number)  stk_lane_enter(lane, cursors[number])
#define STK_REFILL(lane, number) stk_lane_refill(lane)

/* Calls an inline function with a number of lanes that the compiler knows. */
#define STK_RUN_LANES(run, cursors, count)                                                         \
    ((count) == 1   ? run(cursors, 1)                                                              \
     : (count) == 2 ? run(cursors, 2)                                                              \
     : (count) == 3 ? run(cursors, 3)                                                              \
                    : run(cursors, 4))
