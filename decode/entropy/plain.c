/* The lock-step and the way to a block's coefficients, for any processor. */
#include "decode/entropy/zigzag.h"
#include "decode/kernels/kernels.h"

/* Without a branch, whatever the compiler thinks of it. */
static inline void stk_pick_block(uint64_t state, const uint64_t **table,
                                  const struct stk_slot **slot)
{
    const struct stk_slot *now = *slot;
    uintptr_t ended = -(uintptr_t)(state >> 15 & 1);
    uintptr_t ac = (uintptr_t)now->ac, dc = (uintptr_t)now->next_dc;
    uintptr_t next = (uintptr_t)now->next;
    *table = (const uint64_t *)(ac ^ ((ac ^ dc) & ended));
    *slot = (const struct stk_slot *)((uintptr_t)now ^ (((uintptr_t)now ^ next) & ended));
}

static inline unsigned stk_count_values(uint64_t entry)
{
    return stk_entry_values(entry);
}

#include "decode/entropy/lanes.h"

int stk_plain_lockstep(struct stk_cursor *const *cursors, unsigned count)
{
    return stk_lanes_lockstep(cursors, count);
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
