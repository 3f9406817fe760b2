/* Cursors in lock-step with the shifts of BMI2, whose counts may be any word's lowest bits. */
#include "decode/kernels/kernels.h"

#define TARGET __attribute__((target("bmi,bmi2,popcnt")))
#define INLINE static inline __attribute__((always_inline))

/* By conditional moves: left to themselves, compilers branch here. */
INLINE void stk_pick_block(uint64_t state, const uint64_t **table, const struct stk_slot **slot)
{
    const struct stk_slot *now = *slot;
    *table = now->ac;
    __asm__("testl $0x8000, %k[state]\n\t"
            "cmovnz %[next_dc], %[table]\n\t"
            "cmovnz %[next], %[slot]"
            : [table] "+&r"(*table), [slot] "+&r"(*slot)
            : [state] "r"(state), [next_dc] "m"(now->next_dc), [next] "m"(now->next)
            : "cc");
}

INLINE unsigned stk_count_values(uint64_t entry)
{
    return (unsigned)__builtin_popcountll(stk_entry_mask(entry));
}

#include "decode/entropy/lanes.h"

TARGET int stk_bmi2_lockstep(struct stk_cursor *const *cursors, unsigned count)
{
    return stk_lanes_lockstep(cursors, count);
}
