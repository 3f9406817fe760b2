/*
 * The form's kernels in AVX2, 32 values at a time. Tables shuffle
 * values together: BMI2's own instruction for it takes some processors a hundred times as long as
 * others.
 */
#include "decode/kernels/ranks.h"
#include "decode/kernels/gathers.h"
#include "decode/kernels/planes.h"

#include <immintrin.h>
#include <string.h>

#define FEATURES "avx2,bmi,bmi2,popcnt"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

#define STK_GATHER_KERNEL    TARGET static
#define STK_MASKS_KERNEL     TARGET static
#define STK_MASKS_INLINE     INLINE
#define STK_COUNT_ONES(mask) ((unsigned)_mm_popcnt_u64(mask))
#define STK_COPY_64(to, from)                                                                      \
    do {                                                                                           \
        const int8_t *source = (from);                                                             \
        store(to, load(source));                                                                   \
        store((to) + 32, load(source + 32));                                                       \
    } while (0)

INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256(from);
}

INLINE void store(void *to, __m256i bytes)
{
    _mm256_storeu_si256(to, bytes);
}

#include "decode/kernels/gather.h"
#include "decode/kernels/masks.h"

/* ---- planes ---- */

INLINE uint32_t first_bits(size_t count)
{
    return count >= 32 ? ~UINT32_C(0) : (UINT32_C(1) << count) - 1;
}

INLINE uint32_t load_bits(const uint8_t *plane, size_t at)
{
    uint32_t bits;
    memcpy(&bits, plane + at / 8, sizeof bits);
    return bits;
}

/* Up to 32, of a plane that ends with them if they are fewer. */
INLINE void store_bits(uint8_t *plane, size_t at, uint32_t bits, size_t count)
{
    bits &= first_bits(count);
    if (count >= 32) {
        memcpy(plane + at / 8, &bits, sizeof bits);
        return;
    }
    for (size_t i = 0; i < stk_plane_bytes(count); i++) {
        plane[at / 8 + i] = (uint8_t)(bits >> 8 * i);
    }
}

/* Bits as bytes of 0 or -1. */
INLINE __m256i spread_bits(uint32_t bits)
{
    const __m256i byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                          2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((long long)UINT64_C(0x8040201008040201));
    __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), byte);
    return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}

/* Those of the lowest eight bytes that the flags say, one behind the other. */
INLINE uint8_t *put_eight(uint8_t *to, uint32_t flags, __m128i bytes)
{
    __m128i shuffle = _mm_loadl_epi64((const void *)&stk_gathers[flags & 255]);
    _mm_storel_epi64((void *)to, _mm_shuffle_epi8(bytes, shuffle));
    return to + _mm_popcnt_u32(flags & 255);
}

INLINE uint8_t *put_some(uint8_t *to, uint32_t flags, size_t count, __m256i bytes)
{
    flags &= first_bits(count);
    __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    to = put_eight(to, flags, low);
    to = put_eight(to, flags >> 8, _mm_unpackhi_epi64(low, low));
    to = put_eight(to, flags >> 16, high);
    return put_eight(to, flags >> 24, _mm_unpackhi_epi64(high, high));
}

TARGET static size_t pack_signs(uint8_t *signs, uint8_t *flags, uint8_t *larger,
                                const int8_t *values, size_t count)
{
    const __m256i one = _mm256_set1_epi8(1);
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 32) {
        __m256i value = load(values + at), magnitude = _mm256_abs_epi8(value);
        uint32_t flag = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(magnitude, one));
        store_bits(signs, at, (uint32_t)_mm256_movemask_epi8(value), count - at);
        store_bits(flags, at, flag, count - at);
        to = put_some(to, flag, count - at, magnitude);
    }
    return (size_t)(to - larger);
}

TARGET static size_t pack_bits(uint8_t *bits, uint8_t *flags, uint8_t *larger,
                               const uint8_t *values, size_t count)
{
    const __m256i three = _mm256_set1_epi8(3), low = _mm256_set1_epi8(63);
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 32) {
        __m256i value = load(values + at);
        store_bits(bits, at, (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(value, 7)),
                   count - at);
        if (flags) {
            uint32_t flag = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(value, three));
            store_bits(flags, at, flag, count - at);
            to = put_some(to, flag, count - at, _mm256_and_si256(_mm256_srli_epi16(value, 1), low));
        }
    }
    return (size_t)(to - larger);
}

TARGET static size_t count_ones(const uint8_t *plane, size_t bits)
{
    size_t count = 0, at = 0;
    for (; at + 32 <= bits; at += 32) {
        count += (size_t)_mm_popcnt_u32(load_bits(plane, at));
    }
    return count + (size_t)_mm_popcnt_u32(load_bits(plane, at) & first_bits(bits - at));
}

/* Eight places: 0, and where the flags say the next ones of `larger`. */
INLINE __m128i take_eight(uint32_t flags, const uint8_t **larger)
{
    __m128i some = _mm_shuffle_epi8(_mm_loadl_epi64((const void *)*larger),
                                    _mm_loadl_epi64((const void *)stk_ranks[flags & 255]));
    *larger += _mm_popcnt_u32(flags & 255);
    return some;
}

/* As many as there are flags; 1 where there is none. */
INLINE __m256i take_some(uint32_t flags, const uint8_t **larger)
{
    __m128i a = take_eight(flags, larger), b = take_eight(flags >> 8, larger);
    __m128i c = take_eight(flags >> 16, larger), d = take_eight(flags >> 24, larger);
    __m256i all = _mm256_setr_m128i(_mm_unpacklo_epi64(a, b), _mm_unpacklo_epi64(c, d));
    return _mm256_max_epu8(all, _mm256_set1_epi8(1));
}

TARGET static void unpack_signs(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                                const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += 32) {
        __m256i value = take_some(load_bits(flags, at), &larger);
        __m256i minus = spread_bits(load_bits(signs, at));
        store(values + at, _mm256_sub_epi8(_mm256_xor_si256(value, minus), minus));
    }
}

TARGET static void unpack_bits(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                               const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += 32) {
        __m256i value = _mm256_set1_epi8(1);
        if (flags) {
            value = take_some(load_bits(flags, at), &larger);
        }
        value = _mm256_add_epi8(value, value);
        store(values + at, _mm256_sub_epi8(value, spread_bits(load_bits(bits, at))));
    }
}

TARGET static size_t find_largest(uint32_t *places, const int8_t *values, size_t count)
{
    const __m256i largest = _mm256_set1_epi8(STK_FORM_LARGEST);
    size_t found = 0;
    for (size_t at = 0; at < count; at += 32) {
        __m256i same = _mm256_cmpeq_epi8(_mm256_abs_epi8(load(values + at)), largest);
        uint32_t which = (uint32_t)_mm256_movemask_epi8(same) & first_bits(count - at);
        /* Two without asking whether there are any: mostly there is none or one. */
        places[found] = (uint32_t)at + _tzcnt_u32(which);
        places[found + 1] = (uint32_t)at + _tzcnt_u32(_blsr_u32(which));
        uint32_t more = _blsr_u32(_blsr_u32(which));
        for (size_t i = found + 2; more; more = _blsr_u32(more)) {
            places[i++] = (uint32_t)at + _tzcnt_u32(more);
        }
        found += (size_t)_mm_popcnt_u32(which);
    }
    return found;
}

/* ---- DC ---- */

INLINE uint32_t bit_of(__m256i low, __m256i high, int bit)
{
    __m128i count = _mm_cvtsi32_si128(15 - bit);
    __m256i both = _mm256_packs_epi16(_mm256_sll_epi16(low, count), _mm256_sll_epi16(high, count));
    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(both, 0xd8));
}

/* Returns the rest of a magnitude as a value with that sign. */
INLINE __m256i rest_of(__m256i magnitude, __m256i dc)
{
    __m256i rest = _mm256_srli_epi16(magnitude, STK_DC_PLANES);
    rest = _mm256_add_epi16(rest, _mm256_set1_epi16(1));
    rest = _mm256_min_epi16(rest, _mm256_set1_epi16(STK_FORM_LARGEST));
    __m256i minus = _mm256_srai_epi16(dc, 15);
    return _mm256_sub_epi16(_mm256_xor_si256(rest, minus), minus);
}

TARGET static void pack_dc(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += 32) {
        __m256i low = load(dc + at), high = load(dc + at + 16);
        __m256i abs_low = _mm256_abs_epi16(low), abs_high = _mm256_abs_epi16(high);
        for (int bit = 0; bit < STK_DC_PLANES; bit++) {
            store_bits(planes + (size_t)bit * plane, at, bit_of(abs_low, abs_high, bit),
                       blocks - at);
        }
        __m256i rest = _mm256_packs_epi16(rest_of(abs_low, low), rest_of(abs_high, high));
        store(values + at, _mm256_permute4x64_epi64(rest, 0xd8));
    }
}

/* Sixteen of them; of the planes the lower or the upper half of the bits. */
INLINE __m256i join_dc(__m128i values, const __m256i planes[STK_DC_PLANES], int half)
{
    __m256i value = _mm256_cvtepi8_epi16(values), minus = _mm256_srai_epi16(value, 15);
    __m256i dc = _mm256_sub_epi16(_mm256_abs_epi16(value), _mm256_set1_epi16(1));
    dc = _mm256_slli_epi16(dc, STK_DC_PLANES);
    for (int bit = 0; bit < STK_DC_PLANES; bit++) {
        __m128i part =
            half ? _mm256_extracti128_si256(planes[bit], 1) : _mm256_castsi256_si128(planes[bit]);
        __m256i set =
            _mm256_and_si256(_mm256_cvtepi8_epi16(part), _mm256_set1_epi16((short)(1 << bit)));
        dc = _mm256_or_si256(dc, set);
    }
    return _mm256_sub_epi16(_mm256_xor_si256(dc, minus), minus);
}

TARGET static void unpack_dc(int16_t *dc, const uint8_t *planes, const int8_t *values,
                             size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += 32) {
        __m256i bits[STK_DC_PLANES], value = load(values + at);
        for (size_t bit = 0; bit < STK_DC_PLANES; bit++) {
            bits[bit] = spread_bits(load_bits(planes + bit * plane, at));
        }
        store(dc + at, join_dc(_mm256_castsi256_si128(value), bits, 0));
        store(dc + at + 16, join_dc(_mm256_extracti128_si256(value, 1), bits, 1));
    }
}

const struct stk_form_kernels stk_form_avx2 = {
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
