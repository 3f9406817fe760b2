/*
 * The inner loops of packing and unpacking a group, in one table for each kind of processor; all
 * give the same bytes.
 *
 * Values go by bit planes, level by level. To level 0 belong all values, to level k those of 1 << k
 * and more in magnitude. Level 0 has their signs, and flags: which of them belong to level 1. Level
 * k has the next bit of theirs, the lowest first, and flags of those that belong to the next level;
 * the last level has no flags. Bits are counted from the lowest one of the first byte; those behind
 * the last are zero.
 */
#ifndef STK_DECODE_FORM_PLANES_H
#define STK_DECODE_FORM_PLANES_H

#include <stddef.h>
#include <stdint.h>

#include "decode/entropy/coefficients.h"

#define STK_FORM_LEVELS 7
/* In the place of a difference of DC that no byte holds. */
#define STK_DC_ESCAPE (-128)
/* Where that many entries are written or read, so many more may be. */
#define STK_PLANES_SLACK 64

/* Blocks of a run of the parser's on their way to a group. All pointers move on. */
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

struct stk_form_kernels {
    void (*gather)(struct stk_gathering *gathering, size_t blocks);
    /*
     * Half a byte for each block says how many of the lowest bytes of its mask, without position 0,
     * stand among `bytes`; returns how many there are. Writes 8 bytes too far.
     */
    size_t (*pack_masks)(uint8_t *halves, uint8_t *bytes, const uint64_t *masks, size_t blocks);
    /* Level 0, and another one; `flags` is NULL for the last. Returns how many went to `larger`. */
    size_t (*pack_signs)(uint8_t *signs, uint8_t *flags, uint8_t *larger, const int8_t *values,
                         size_t count);
    size_t (*pack_bits)(uint8_t *bits, uint8_t *flags, uint8_t *larger, const uint8_t *values,
                        size_t count);
    /* Escapes where it has to; returns how many. */
    size_t (*pack_dc)(int8_t *out, const int16_t *dc, size_t blocks);

    /*
     * The bytes that all halves say must be there, and 8 more. Halves above 8 count as 8, but move
     * on as they say. Returns how many values the masks have.
     */
    size_t (*unpack_masks)(uint64_t *masks, const uint8_t *halves, const uint8_t *bytes,
                           size_t blocks);
    /* The sum of the halves; the ones among so many bits. */
    size_t (*sum_halves)(const uint8_t *halves, size_t blocks);
    size_t (*count_ones)(const uint8_t *plane, size_t bits);
    void (*unpack_signs)(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                         const uint8_t *larger, size_t count);
    /* Without `flags` all values are of the last level. */
    void (*unpack_bits)(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                        const uint8_t *larger, size_t count);
    /* Escapes stay; returns how many. */
    size_t (*unpack_dc)(int16_t *dc, const int8_t *from, size_t blocks);
    /* How many values are of the largest magnitude. */
    size_t (*count_largest)(const int8_t *values, size_t count);
};

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

#endif
