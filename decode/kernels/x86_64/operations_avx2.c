/* Pillow's operations with vectors of 256 bits. */
#include <immintrin.h>

#define LOOP      __attribute__((target("avx2"))) static
#define LANES     8
#define WARP      stk_avx2_warp
#define LOOK_UP   stk_plain_look_up
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
