/* Blocks to where they are wanted: DC added up, wide values found, with BMI2. */
#include "decode/common/zigzag.h"
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

/* Returns the place of a mask's one behind `count` others. BMI2's own instruction for it takes some
 * processors a hundred times as long as others, and wide values are mostly among the first. */
INLINE unsigned place_of_one(uint64_t mask, uint32_t count)
{
    for (; count > 0; count--) {
        mask &= mask - 1;
    }
    return (unsigned)__builtin_ctzll(mask);
}

/* Adds to the quad what the bytes of a block's wide values lack, from `wide` up to `end`. Returns
 * the next wide value. */
INLINE const struct stk_wide *take_rest(struct stk_quad *quad, unsigned place, uint64_t mask,
                                        const int8_t *all, uint32_t at, uint32_t end,
                                        const struct stk_wide *wide)
{
    if (!quad->has_rest) {
        memset(quad->rest, 0, sizeof quad->rest);
        quad->has_rest = true;
    }
    for (; wide->at < end; wide++) {
        unsigned to = stk_zigzag[place_of_one(mask, wide->at - at)];
        quad->rest[to / 8][8 * place + to % 8] = (int16_t)(wide->value - all[wide->at]);
    }
    return wide;
}

/*
 * Takes blocks without a branch on whether the difference of DC is wide, which cannot be predicted:
 * each block looks up the wide value that may be next.
 */
INLINE void take(struct stk_source *next, struct stk_quad *quads,
                 const struct stk_block_slot *block_slots, unsigned count, bool apart)
{
    const struct stk_wide *wide = next->wide;
    const int8_t *all = next->all;
    uint32_t at = (uint32_t)(next->values - all), limit = wide->at;
    for (unsigned i = 0; i < count; i++) {
        struct stk_quad *quad = &quads[block_slots[i].quad];
        unsigned place = block_slots[i].place, component = block_slots[i].component;
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
        quad->masks[place] = mask;
        quad->values[place] = all + at;
        quad->dc[place] = (int16_t)next->last_dc[component];
        if (__builtin_expect(limit < end, 0)) {
            wide = take_rest(quad, place, mask, all, at, end, wide);
            limit = wide->at;
        }
        at = end;
    }
    next->wide = wide;
    next->masks += count;
    next->values = all + at;
}

TARGET void stk_bmi2_take(struct stk_source *next, struct stk_quad *quads,
                          const struct stk_block_slot *block_slots, unsigned count)
{
    if (next->dc) {
        take(next, quads, block_slots, count, true);
        next->dc += count;
    } else {
        take(next, quads, block_slots, count, false);
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
