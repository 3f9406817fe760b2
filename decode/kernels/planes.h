/*
 * The inner loops of packing and unpacking a group, in one table for each kind of processor; all
 * give equal bytes.
 *
 * Values are stored as bit planes, level by level. All values belong to level 0, and those of 1 <<
 * k and more in magnitude to level k. Level 0 has a sign for each value, and a flag that says
 * whether the value belongs to level 1. Level k has the next bit of its values, the lowest first,
 * and flags for the next level; the last level has no flags. Bits are counted from the lowest one
 * of the first byte; those behind the last are zero.
 *
 * The length of a mask, without its position 0, is the number of its half bytes up to the last one
 * that is not zero; 15 also stands for 16. If the length is odd, a half byte is left, which is kept
 * apart from the whole bytes.
 *
 * The lowest bits of a difference of DC are planes. The rest of its magnitude, plus 1, has the sign
 * of the difference and is a value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "decode/common/coefficients.h"

#define STK_FORM_LEVELS 7
/* The largest magnitude of a value. */
#define STK_FORM_LARGEST 127
#define STK_DC_PLANES    3
/* So many more entries may be written or read than a function is asked for. */
#define STK_PLANES_SLACK 64

/* Blocks of a parser's run on their way to a group. All pointers move on. */
struct stk_gathering {
    const uint64_t *masks;
    const int8_t *values, *values_base;
    const struct stk_wide *wide;
    uint64_t *to_masks;
    int16_t *to_dc;
    int8_t *to_values;
    const int8_t *to_values_base;
    struct stk_wide *to_wide;
};

/* The sums over many masks: whole bytes, and half bytes. */
struct stk_mask_bytes {
    size_t whole, halves;
};

struct stk_form_kernels {
    void (*gather)(struct stk_gathering *gathering, size_t blocks);
    /* Packs masks. Writes 8 bytes too far in each array. */
    struct stk_mask_bytes (*pack_masks)(uint8_t *lengths, uint8_t *whole, uint8_t *halves,
                                        const uint64_t *masks, size_t blocks);
    /* Pack level 0, and another level; `flags` is NULL for the last. Return how many went to
     * `larger`. */
    size_t (*pack_signs)(uint8_t *signs, uint8_t *flags, uint8_t *larger, const int8_t *values,
                         size_t count);
    size_t (*pack_bits)(uint8_t *bits, uint8_t *flags, uint8_t *larger, const uint8_t *values,
                        size_t count);
    /* Packs DC to three planes one behind the other, and the values. */
    void (*pack_dc)(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks);

    struct stk_mask_bytes (*measure_masks)(const uint8_t *lengths, size_t blocks);
    /* Unpacks masks. The bytes must be there, and 8 more. Returns how many values the masks have.
     */
    size_t (*unpack_masks)(uint64_t *masks, const uint8_t *lengths, const uint8_t *whole,
                           const uint8_t *halves, size_t blocks);
    /* Returns the ones among so many bits. */
    size_t (*count_ones)(const uint8_t *plane, size_t bits);
    void (*unpack_signs)(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                         const uint8_t *larger, size_t count);
    /* Unpacks a level; without `flags` it is the last one. */
    void (*unpack_bits)(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                        const uint8_t *larger, size_t count);
    void (*unpack_dc)(int16_t *dc, const uint8_t *planes, const int8_t *values, size_t blocks);
    /* Finds the values of the largest magnitude; returns how many. Writes two too many. */
    size_t (*find_largest)(uint32_t *places, const int8_t *values, size_t count);
};

/* Return the whole bytes of a mask of that length, and 1 if half a byte is left. */
static inline unsigned stk_mask_whole(unsigned length)
{
    return (length + (length == 15)) / 2;
}

static inline unsigned stk_mask_half(unsigned length)
{
    return length & (length != 15);
}

static inline size_t stk_plane_bytes(size_t bits)
{
    return (bits + 7) / 8;
}

extern const struct stk_form_kernels stk_form_plain;
#if defined(__x86_64__)
extern const struct stk_form_kernels stk_form_avx2, stk_form_avx512;
#elif defined(__aarch64__)
extern const struct stk_form_kernels stk_form_neon;
#endif
