/* Cursors in lock-step with the shifts of BMI2, whose counts may be any word's lowest bits. */
#include "decode/kernels/kernels.h"

#define TARGET __attribute__((target("bmi,bmi2,popcnt")))

#include "decode/kernels/lanes.h"

/* By conditional moves: left to themselves, compilers branch here. */
STK_LANE_INLINE void stk_lane_end_block(struct stk_lane *lane)
{
    __asm__("testl $0x8000, %k[state]\n\t"
            "cmovnz %c[next_dc](%[slot]), %[table]\n\t"
            "cmovnz %c[next](%[slot]), %[slot]\n\t"
            "cmovnz %[next_mask], %[masks]\n\t"
            "cmovnz %[bits], %[state]"
            : [table] "+r"(lane->table), [slot] "+r"(lane->slot), [masks] "+r"(lane->masks),
              [state] "+r"(lane->state)
            : [next_dc] "i"(offsetof(struct stk_mcu_slot, next_dc)),
              [next] "i"(offsetof(struct stk_mcu_slot, next)), [next_mask] "r"(lane->masks + 1),
              [bits] "r"(lane->state & 0xff), "m"(*lane->slot)
            : "cc");
}

STK_LANE_INLINE unsigned stk_count_values(uint64_t entry)
{
    return (unsigned)__builtin_popcountll(stk_entry_mask(entry));
}

/* The instruction looks at these six only, but compilers clear the others sometimes. */
STK_LANE_INLINE uint64_t stk_shift_left(uint64_t word, uint64_t count)
{
    uint64_t shifted;
    __asm__("shlx %[count], %[word], %[shifted]"
            : [shifted] "=r"(shifted)
            : [word] "r"(word), [count] "r"(count));
    return shifted;
}

TARGET int stk_bmi2_lockstep(struct stk_cursor *const *cursors, unsigned count)
{
    return STK_RUN_LANES(stk_lanes_run, cursors, count);
}
