/* Pillow's operations with vectors of 256 bits. */
#include <immintrin.h>

#define LOOP      __attribute__((target("avx2"))) static
#define LANES     8
#define WARP      stk_avx2_warp
#define LOOK_UP   look_up
#define SLIDE_BOX slide_box_by_pairs

#include "decode/kernels/operation_kernels.h"
#include "decode/kernels/vectors.h"

/* ---- choices ---- */

#define HAS_OWN_CHOICES /* compilers take those of the loops apart */

INNER ints either(ints mask, ints value, ints other)
{
    return (ints)_mm256_blendv_epi8((__m256i)other, (__m256i)value, (__m256i)mask);
}

INNER ints most(ints a, ints b)
{
    return (ints)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

INNER ints least(ints a, ints b)
{
    return (ints)_mm256_min_epi32((__m256i)a, (__m256i)b);
}

/* ---- tables ---- */

/* Looks up the lower four bits of 32 bytes in a part of a table. */
INNER __m256i look_up_lower(__m256i lower, const uint8_t *part)
{
    __m128i values = _mm_loadu_si128((const __m128i *)(const void *)part);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), lower);
}

/* Looks up 32 bytes. The upper four bits choose one of the results for the lower four. */
INNER __m256i look_up_32(__m256i bytes, const uint8_t *table)
{
    __m256i lower = _mm256_and_si256(bytes, _mm256_set1_epi8(15)), found[4];
    __m256i by_64 = _mm256_slli_epi16(bytes, 1), by_32 = _mm256_slli_epi16(bytes, 2);
    __m256i by_16 = _mm256_slli_epi16(bytes, 3);
    for (unsigned i = 0; i < 4; i++, table += 64) {
        __m256i first = _mm256_blendv_epi8(look_up_lower(lower, table),
                                           look_up_lower(lower, table + 16), by_16);
        __m256i second = _mm256_blendv_epi8(look_up_lower(lower, table + 32),
                                            look_up_lower(lower, table + 48), by_16);
        found[i] = _mm256_blendv_epi8(first, second, by_32);
    }
    return _mm256_blendv_epi8(_mm256_blendv_epi8(found[0], found[1], by_64),
                              _mm256_blendv_epi8(found[2], found[3], by_64), bytes);
}

/* Exchanges rows and columns of four by four bytes in each half. */
INNER __m256i exchanged(__m256i bytes)
{
    return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                          0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
}

/* Does so for four by four numbers of four bytes. */
INNER void exchange(__m256i rows[4])
{
    __m256i a = _mm256_unpacklo_epi32(rows[0], rows[1]);
    __m256i b = _mm256_unpackhi_epi32(rows[0], rows[1]);
    __m256i c = _mm256_unpacklo_epi32(rows[2], rows[3]);
    __m256i d = _mm256_unpackhi_epi32(rows[2], rows[3]);
    rows[0] = _mm256_unpacklo_epi64(a, c);
    rows[1] = _mm256_unpackhi_epi64(a, c);
    rows[2] = _mm256_unpacklo_epi64(b, d);
    rows[3] = _mm256_unpackhi_epi64(b, d);
}

#define BESIDE 32 /* pixels that are looked up together: band by band */

LOOP void look_up(uint8_t *out, const uint8_t *in, const uint8_t *tables, size_t count)
{
    size_t i = 0;
    for (; i + BESIDE <= count; i += BESIDE) {
        __m256i parts[4];
        for (unsigned k = 0; k < 4; k++) {
            const uint8_t *at = in + 4 * i + 32 * k;
            parts[k] = exchanged(_mm256_loadu_si256((const __m256i *)(const void *)at));
        }
        exchange(parts);
        for (unsigned band = 0; band < 3; band++) {
            parts[band] = look_up_32(parts[band], tables + 256 * band);
        }
        parts[3] = _mm256_setzero_si256();
        exchange(parts);
        for (unsigned k = 0; k < 4; k++) {
            uint8_t *at = out + 4 * i + 32 * k;
            _mm256_storeu_si256((__m256i *)(void *)at, exchanged(parts[k]));
        }
    }
    stk_plain_look_up(out + 4 * i, in + 4 * i, tables, count - i);
}

/* ---- greys ---- */

#define HAS_OWN_GREYS /* sums of products of 16 bits take half the steps */

/* Returns the greys in parts of 2^-16, and a half. */
INNER __m256i grey_sums_of(ints pixels)
{
    __m256i red_blue = _mm256_and_si256((__m256i)pixels, _mm256_set1_epi32(0x00ff00ff));
    __m256i twice_green =
        _mm256_and_si256(_mm256_srli_epi32((__m256i)pixels, 7), _mm256_set1_epi32(0x1fe));
    __m256i sum =
        _mm256_add_epi32(_mm256_madd_epi16(red_blue, _mm256_set1_epi32(19595 | 7471 << 16)),
                         _mm256_madd_epi16(twice_green, _mm256_set1_epi32(38470 / 2)));
    return _mm256_add_epi32(sum, _mm256_set1_epi32(1 << 15));
}

INNER ints greys_of(ints pixels)
{
    return (ints)_mm256_srli_epi32(grey_sums_of(pixels), 16);
}

INNER ints grey_pixels_of(ints pixels)
{
    const __m256i third_bytes = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(2, 2, 2, -1, 6, 6, 6, -1, 10, 10, 10, -1, 14, 14, 14, -1));
    __m256i greys = _mm256_shuffle_epi8(grey_sums_of(pixels), third_bytes);
    return (ints)_mm256_or_si256(greys, _mm256_set1_epi32((int)0xff000000));
}

/* ---- blends ---- */

#define HAS_OWN_BLENDS

/* Goes from eight bytes to others by `share`. The results may be beyond a byte. */
INNER __m256i eight_between(__m128i from, __m128i to, __m256 share)
{
    __m256i a = _mm256_cvtepu8_epi32(from);
    __m256 way = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(to), a));
    return _mm256_cvttps_epi32(_mm256_add_ps(_mm256_cvtepi32_ps(a), _mm256_mul_ps(share, way)));
}

/* Goes from 16 bytes to others. The result has numbers of 16 bits: four each of those from 0, 8, 4
 * and 12 on. */
INNER __m256i sixteen_between(__m128i from, __m128i to, __m256 share)
{
    return _mm256_packs_epi32(
        eight_between(from, to, share),
        eight_between(_mm_unpackhi_epi64(from, from), _mm_unpackhi_epi64(to, to), share));
}

/* Does what the blend of the loops does, but without taking pixels apart: packing keeps the results
 * within a byte.
 */
INNER ints blended_by_floats(ints from, ints to, float share)
{
    __m256i a = (__m256i)from, b = (__m256i)to, order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256 all = _mm256_set1_ps(share);
    __m256i low = sixteen_between(_mm256_castsi256_si128(a), _mm256_castsi256_si128(b), all);
    __m256i high =
        sixteen_between(_mm256_extracti128_si256(a, 1), _mm256_extracti128_si256(b, 1), all);
    return (ints)_mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
}

/* Goes from 16 numbers to others by a proven share. */
INNER __m256i by_proven(__m256i from, __m256i to, struct stk_share share)
{
    __m256i way = _mm256_sub_epi16(to, from);
    __m256i whole = _mm256_mullo_epi16(way, _mm256_set1_epi16(share.whole));
    __m256i part = _mm256_mulhi_epi16(way, _mm256_set1_epi16(share.part));
    return _mm256_add_epi16(from, _mm256_add_epi16(whole, part));
}

INNER ints blended(ints from, ints to, struct stk_share share)
{
    __m256i a = (__m256i)from, b = (__m256i)to, zero = _mm256_setzero_si256();
    if (!share.is_proven) {
        return blended_by_floats(from, to, share.number);
    }
    __m256i low = by_proven(_mm256_unpacklo_epi8(a, zero), _mm256_unpacklo_epi8(b, zero), share);
    __m256i high = by_proven(_mm256_unpackhi_epi8(a, zero), _mm256_unpackhi_epi8(b, zero), share);
    return (ints)_mm256_packus_epi16(low, high);
}

#include "decode/kernels/operation_loops.h"

/* ---- box blurs ---- */

/* The weights of a box and of its ends, in pairs, as two numbers of 12 bits each:
 * _mm256_madd_epi16() takes numbers of 16 bits. */
struct pair_weights {
    __m256i low, high;
};

INNER struct pair_weights pair_weights_of(struct stk_box_weights weights)
{
    const uint32_t most = (1u << 12) - 1;
    return (struct pair_weights){
        .low = _mm256_set1_epi32((int)((weights.inner & most) | (weights.outer & most) << 16)),
        .high = _mm256_set1_epi32((int)(weights.inner >> 12 | weights.outer >> 12 << 16)),
    };
}

/* Weighs eight pairs of a sum and its ends. The result wraps as a product of 32 bits does. */
INNER __m256i weighed(__m256i pairs, struct pair_weights weights)
{
    __m256i low = _mm256_madd_epi16(pairs, weights.low);
    __m256i high = _mm256_slli_epi32(_mm256_madd_epi16(pairs, weights.high), 12);
    __m256i sum = _mm256_add_epi32(_mm256_add_epi32(low, high), _mm256_set1_epi32(1 << 23));
    return _mm256_srli_epi32(sum, 24);
}

INNER __m256i load_16(const uint8_t *at)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)at));
}

/* Moves 16 sums on, and returns their bytes in numbers of 16 bits. */
INNER __m256i slide_16(uint16_t *sums, const uint8_t *leaving, const uint8_t *entering,
                       const uint8_t *next, struct pair_weights weights)
{
    __m256i *at = (__m256i *)(void *)sums, left = load_16(leaving);
    __m256i sum =
        _mm256_add_epi16(_mm256_loadu_si256(at), _mm256_sub_epi16(load_16(entering), left));
    __m256i ends = _mm256_add_epi16(left, load_16(next));
    _mm256_storeu_si256(at, sum);
    return _mm256_packus_epi32(weighed(_mm256_unpacklo_epi16(sum, ends), weights),
                               weighed(_mm256_unpackhi_epi16(sum, ends), weights));
}

/* As slide_box(), with multiplications of 16 bits: those of 32 take four times as long. */
LOOP void slide_box_by_pairs(uint8_t *restrict out, uint16_t *restrict sums,
                             const uint8_t *restrict leaving, const uint8_t *restrict entering,
                             const uint8_t *restrict next, struct stk_box_weights weights,
                             size_t bytes)
{
    struct pair_weights pairs = pair_weights_of(weights);
    size_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
        __m256i first = slide_16(sums + i, leaving + i, entering + i, next + i, pairs);
        __m256i second =
            slide_16(sums + i + 16, leaving + i + 16, entering + i + 16, next + i + 16, pairs);
        __m256i made = _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xd8);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), made);
    }
    slide_box(out + i, sums + i, leaving + i, entering + i, next + i, weights, bytes - i);
}

const struct stk_operations stk_operations_avx2 = OPERATIONS;
