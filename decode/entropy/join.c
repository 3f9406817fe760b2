/*
 * Both cursors move from MCU to MCU, always the one that is behind, until they meet. The second one
 * has visited these MCUs before and written their coefficients, so its output is only counted here.
 * To read them again is cheaper than to note each place at the first visit.
 */
#include "decode/entropy/join.h"

/* Memory for the output of one MCU, which is not used. */
struct nowhere {
    int8_t values[STK_MCU_BLOCKS * STK_BLOCK_SIZE + 8];
    uint64_t masks[STK_MCU_BLOCKS + 1];
    struct stk_wide wide[STK_MCU_BLOCKS * STK_BLOCK_SIZE];
};

bool stk_cursor_finish_mcu(struct stk_cursor *cursor, const struct stk_mcu_slot *first,
                           const uint8_t *end)
{
    while (cursor->slot != first || !stk_cursor_is_between(cursor)) {
        if (cursor->in > end || !stk_cursor_step(cursor)) {
            return false;
        }
    }
    return true;
}

/* Moves a cursor by one MCU. */
static bool advance(struct stk_cursor *cursor, const struct stk_mcu_slot *first, const uint8_t *end)
{
    return cursor->in <= end && stk_cursor_step(cursor) &&
           stk_cursor_finish_mcu(cursor, first, end);
}

static bool repeat_mcu(struct stk_cursor *cursor, const struct stk_scan *scan, const uint8_t *end,
                       struct nowhere *out, struct stk_area *area)
{
    cursor->values = out->values;
    cursor->masks = out->masks;
    out->masks[0] = 0;
    cursor->wide = out->wide;
    cursor->values_base = out->values;
    if (!advance(cursor, scan->slots, end)) {
        return false;
    }
    area->values += cursor->values - out->values;
    area->masks += cursor->masks - out->masks;
    area->wide += cursor->wide - out->wide;
    return true;
}

bool stk_join(const struct stk_scan *scan, struct stk_cursor *truth, const struct stk_cursor *guess,
              uint64_t begin, struct stk_area *area)
{
    uint64_t last = begin + (uint64_t)8 * STK_JOIN_BYTES;
    uint64_t guess_end = stk_cursor_bit(guess, scan->bytes);
    struct nowhere nowhere;
    struct stk_cursor again = *guess;
    stk_cursor_seek(&again, scan->bytes, begin, scan->slots);
    last = last < guess_end ? last : guess_end;
    for (;;) {
        uint64_t here = stk_cursor_bit(truth, scan->bytes);
        uint64_t there = stk_cursor_bit(&again, scan->bytes);
        if (here > last || there > last) {
            return false;
        }
        if (here == there) {
            return area->masks <= guess->masks;
        }
        bool moved = here < there
                         ? truth->masks < truth->masks_end &&
                               advance(truth, scan->slots, scan->bytes + last / 8)
                         : repeat_mcu(&again, scan, scan->bytes + last / 8, &nowhere, area);
        if (!moved) {
            return false;
        }
    }
}
