/* Blocks to where they are wanted: DC added up, wide values found, with BMI2. */
#include "decode/entropy/zigzag.h"
#include "decode/kernels/kernels.h"

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("bmi,bmi2,popcnt")))
#define INLINE static inline __attribute__((target("bmi,bmi2,popcnt"), always_inline))

/* `one` or, if the condition is 1, `other`: compilers make a branch of anything that looks like
 * one. */
INLINE uint32_t choose(uint32_t one, uint32_t other, uint32_t condition)
{
    return one ^ ((one ^ other) & -condition);
}

/* What a block's wide values from `wide` on, but not from `end` on, lack as bytes. Returns `wide`
 * behind. */
INLINE const struct stk_wide *take_rest(struct stk_blocks *four, unsigned place, uint64_t mask,
                                        const int8_t *all, uint32_t at, uint32_t end,
                                        const struct stk_wide *wide)
{
    if (!four->has_rest) {
        memset(four->rest, 0, sizeof four->rest);
        four->has_rest = true;
    }
    for (; wide->at < end; wide++) {
        uint64_t one = _pdep_u64(UINT64_C(1) << (wide->at - at), mask);
        unsigned to = stk_zigzag[__builtin_ctzll(one)];
        four->rest[to / 8][8 * place + to % 8] = (int16_t)(wide->value - all[wide->at]);
    }
    return wide;
}

/*
 * Without a branch that depends on whether the difference of DC is wide, which nobody foresees: the
 * wide value that may be next is looked up for each block.
 */
INLINE void take(struct stk_source *next, struct stk_blocks *fours, const struct stk_seat *seats,
                 unsigned count, bool apart)
{
    const struct stk_wide *wide = next->wide;
    const int8_t *all = next->all;
    uint32_t at = (uint32_t)(next->values - all), limit = wide->at;
    for (unsigned i = 0; i < count; i++) {
        struct stk_blocks *four = &fours[seats[i].four];
        unsigned place = seats[i].place, component = seats[i].component;
        uint64_t mask = next->masks[i];
        uint32_t end = at + (uint32_t)__builtin_popcountll(mask);
        if (apart) {
            next->last_dc[component] += (unsigned)next->dc[i];
        } else {
            uint32_t dc = mask & 1, wide_dc = dc & (at == limit);
            next->last_dc[component] +=
                choose((uint32_t)all[at] & -dc, (uint32_t)wide->value, wide_dc);
            wide += wide_dc;
            limit = wide->at;
        }
        four->masks[place] = mask;
        four->values[place] = all + at;
        four->dc[place] = (int16_t)next->last_dc[component];
        if (__builtin_expect(limit < end, 0)) {
            wide = take_rest(four, place, mask, all, at, end, wide);
            limit = wide->at;
        }
        at = end;
    }
    next->wide = wide;
    next->masks += count;
    next->values = all + at;
}

TARGET void stk_bmi2_take(struct stk_source *next, struct stk_blocks *fours,
                          const struct stk_seat *seats, unsigned count)
{
    if (next->dc) {
        take(next, fours, seats, count, true);
        next->dc += count;
    } else {
        take(next, fours, seats, count, false);
    }
}

INLINE void pass(struct stk_source *next, const uint8_t *components, unsigned count, bool apart)
{
    const struct stk_wide *wide = next->wide;
    const int8_t *all = next->all;
    uint32_t at = (uint32_t)(next->values - all);
    for (unsigned i = 0; i < count; i++) {
        uint64_t mask = next->masks[i];
        if (apart) {
            next->last_dc[components[i]] += (unsigned)next->dc[i];
        } else {
            uint32_t dc = mask & 1, wide_dc = dc & (at == wide->at);
            next->last_dc[components[i]] +=
                choose((uint32_t)all[at] & -dc, (uint32_t)wide->value, wide_dc);
            wide += wide_dc;
        }
        at += (uint32_t)__builtin_popcountll(mask);
        while (__builtin_expect(wide->at < at, 0)) {
            wide++;
        }
    }
    next->wide = wide;
    next->masks += count;
    next->values = all + at;
}

TARGET void stk_bmi2_pass(struct stk_source *next, const uint8_t *components, unsigned count)
{
    if (next->dc) {
        pass(next, components, count, true);
        next->dc += count;
    } else {
        pass(next, components, count, false);
    }
}
