/*
 * The form's kernels in plain C: the reference for all others. Planes go eight values at a time,
 * which are the bytes of a word of 64 bits, the first one the lowest; a byte of a plane is one bit
 * of each.
 */
#include "decode/kernels/planes.h"

#include <string.h>

#include "decode/common/ones.h"
#include "decode/kernels/ranks.h"

#define TARGET
#define INLINE static inline

#define STK_COUNT_ONES(mask)  stk_count_ones(mask)
#define STK_COPY_64(to, from) memcpy(to, from, 64)
#include "decode/kernels/gather.h"
#include "decode/kernels/masks.h"

/* ---- eight bytes in a word ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The highest bits of the bytes, as a byte. */
static unsigned highest_bits(uint64_t word)
{
    return (unsigned)((word >> 7 & EACH(1)) * UINT64_C(0x0102040810204080) >> 56);
}

/* A byte's bits, as bytes of 0 or 1. */
static uint64_t spread_bits(unsigned byte)
{
    uint64_t bits = EACH((uint64_t)byte) & UINT64_C(0x8040201008040201);
    return (bits + EACH(0x7f)) >> 7 & EACH(1);
}

/* Negates the bytes of `word` for which `where` has a 1. These bytes must not be 0. */
static uint64_t negate(uint64_t word, uint64_t where)
{
    return (word ^ where * 255) + where;
}

/* The first bits of a plane's byte, at value `at` of `count`. */
static unsigned there(size_t at, size_t count)
{
    return count - at < 8 ? (1u << (count - at)) - 1 : 255;
}

/* ---- planes ---- */

/* The bytes that a plane's byte says, one behind the other. */
static uint8_t *put_some(uint8_t *to, unsigned which, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++) {
        *to = (uint8_t)(word >> 8 * i);
        to += which >> i & 1;
    }
    return to;
}

static size_t pack_signs(uint8_t *signs, uint8_t *flags, uint8_t *larger, const int8_t *values,
                         size_t count)
{
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 8) {
        uint64_t word = stk_get_word(values + at);
        uint64_t magnitude = negate(word, word >> 7 & EACH(1));
        unsigned some = there(at, count), flag = highest_bits(magnitude + EACH(0x7e)) & some;
        signs[at / 8] = (uint8_t)(highest_bits(word) & some);
        flags[at / 8] = (uint8_t)flag;
        to = put_some(to, flag, magnitude);
    }
    return (size_t)(to - larger);
}

static size_t pack_bits(uint8_t *bits, uint8_t *flags, uint8_t *larger, const uint8_t *values,
                        size_t count)
{
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 8) {
        uint64_t word = stk_get_word(values + at), rest = word >> 1 & EACH(0x3f);
        unsigned some = there(at, count), flag = highest_bits(rest + EACH(0x7e)) & some;
        bits[at / 8] = (uint8_t)(highest_bits(word << 7) & some);
        if (flags) {
            flags[at / 8] = (uint8_t)flag;
            to = put_some(to, flag, rest);
        }
    }
    return (size_t)(to - larger);
}

static size_t count_ones(const uint8_t *plane, size_t bits)
{
    size_t count = 0, at = 0;
    for (; at + 64 <= bits; at += 64) {
        count += stk_count_ones(stk_get_word(plane + at / 8));
    }
    for (; at < bits; at += 8) {
        count += stk_count_ones(plane[at / 8] & there(at, bits));
    }
    return count;
}

/* 1, and where the flags say the next ones of `larger`. */
static uint64_t take_some(unsigned flags, const uint8_t *larger)
{
    const uint8_t *ranks = stk_ranks[flags];
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++) {
        unsigned rank = ranks[i], none = rank >> 7;
        word |= (uint64_t)(none | (larger[rank & 7] & (none - 1))) << 8 * i;
    }
    return word;
}

static void unpack_signs(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                         const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += 8) {
        uint64_t word = take_some(flags[at / 8], larger);
        larger += stk_count_ones(flags[at / 8]);
        stk_put_word(values + at, negate(word, spread_bits(signs[at / 8])));
    }
}

static void unpack_bits(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                        const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += 8) {
        uint64_t word = EACH(1);
        if (flags) {
            word = take_some(flags[at / 8], larger);
            larger += stk_count_ones(flags[at / 8]);
        }
        stk_put_word(values + at, (word << 1 & EACH(0xfe)) | spread_bits(bits[at / 8]));
    }
}

static size_t find_largest(uint32_t *places, const int8_t *values, size_t count)
{
    size_t found = 0;
    for (size_t at = 0; at < count; at += 8) {
        uint64_t word = stk_get_word(values + at);
        unsigned some =
            highest_bits(negate(word, word >> 7 & EACH(1)) + EACH(1)) & there(at, count);
        for (; some; some &= some - 1) {
            places[found++] = (uint32_t)at + (unsigned)__builtin_ctz(some);
        }
    }
    return found;
}

/* ---- DC ---- */

static void pack_dc(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    memset(planes, 0, STK_DC_PLANES * plane);
    for (size_t i = 0; i < blocks; i++) {
        unsigned magnitude = (unsigned)(dc[i] < 0 ? -dc[i] : dc[i]);
        for (unsigned k = 0; k < STK_DC_PLANES; k++) {
            planes[k * plane + i / 8] |= (uint8_t)((magnitude >> k & 1) << i % 8);
        }
        unsigned rest = (magnitude >> STK_DC_PLANES) + 1;
        int value = (int)(rest < STK_FORM_LARGEST ? rest : STK_FORM_LARGEST);
        values[i] = (int8_t)(dc[i] < 0 ? -value : value);
    }
}

static void unpack_dc(int16_t *dc, const uint8_t *planes, const int8_t *values, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t i = 0; i < blocks; i++) {
        int negative = values[i] < 0, rest = (negative ? -values[i] : values[i]) - 1;
        unsigned magnitude = (unsigned)rest << STK_DC_PLANES;
        for (unsigned k = 0; k < STK_DC_PLANES; k++) {
            magnitude |= ((unsigned)planes[k * plane + i / 8] >> i % 8 & 1) << k;
        }
        dc[i] = (int16_t)(negative ? -(int)magnitude : (int)magnitude);
    }
}

const struct stk_form_kernels stk_form_plain = {
    .gather = stk_gather_blocks,
    .pack_masks = stk_masks_pack,
    .pack_signs = pack_signs,
    .pack_bits = pack_bits,
    .pack_dc = pack_dc,
    .measure_masks = stk_masks_measure,
    .unpack_masks = stk_masks_unpack,
    .count_ones = count_ones,
    .unpack_signs = unpack_signs,
    .unpack_bits = unpack_bits,
    .unpack_dc = unpack_dc,
    .find_largest = find_largest,
};
