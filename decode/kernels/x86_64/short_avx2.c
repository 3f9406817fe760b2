/*
 * The passes of a resize whose weights fit 16 bits, as torch's do, in AVX2: one multiplication that
 * adds pairs gives the sum of two taps.
 */
#include "decode/kernels/x86_64/avx2.h"

#include <stdbool.h>

/* Into pairs of 16 bits: 0 and 1, 2 and 3. */
TARGET void stk_avx2_pack_short(struct stk_weights *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        __m128i words = _mm_load_si128((const void *)(weights + i));
        _mm_store_si128((void *)(weights + i), _mm_packs_epi32(words, words));
    }
}

struct short_rounding {
    __m256i half;
    __m128i bits;
};

INLINE struct short_rounding rounding_of(uint32_t bits)
{
    return (struct short_rounding){_mm256_set1_epi32((int)(1u << bits >> 1)),
                                   _mm_cvtsi32_si128((int)bits)};
}

/* Two taps: `pixels` by channel, in pairs of 16 bits. */
INLINE __m256i add(__m256i sum, __m256i pixels, int32_t pair)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pixels, _mm256_set1_epi32(pair)));
}

/* ---- along a row ---- */

/* Puts two pixels of so many bytes, from a place on, into words: each byte beside the other
 * pixel's.
 */
INLINE __m256i shuffle_of(size_t bytes, char at)
{
    const __m128i three = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
    const __m128i four = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    __m128i both = bytes == 3 ? three : four;
    return _mm256_broadcastsi128_si256(_mm_or_si128(_mm_cmpgt_epi8(_mm_setzero_si128(), both),
                                                    _mm_add_epi8(both, _mm_set1_epi8(at))));
}

/* The numbers that are the same for all outputs of a pass. */
struct short_pass {
    struct short_rounding round;
    size_t groups, bytes; /* of an output, of a pixel */
    bool short_end;
};

/* One output of two rows, one in each half. */
INLINE __m256i weigh(const uint8_t *in0, const uint8_t *in1, const struct stk_weights *weights,
                     struct short_pass pass)
{
    const __m256i first = shuffle_of(pass.bytes, 0);
    const __m256i second = shuffle_of(pass.bytes, (char)(2 * pass.bytes));
    __m256i sum = pass.round.half;
    for (size_t g = 0; g < pass.groups; g++) {
        __m256i pixels = _mm256_loadu2_m128i((const void *)(in1 + 4 * pass.bytes * g),
                                             (const void *)(in0 + 4 * pass.bytes * g));
        sum = add(sum, _mm256_shuffle_epi8(pixels, first), weights[g].word[0]);
        if (!pass.short_end || g + 1 < pass.groups) {
            sum = add(sum, _mm256_shuffle_epi8(pixels, second), weights[g].word[1]);
        }
    }
    return _mm256_sra_epi32(sum, pass.round.bits);
}

/* Four outputs of two rows. */
INLINE void weigh_two(uint8_t *const *out, const uint8_t *const *in, const struct stk_taps *taps,
                      size_t o, struct short_pass pass)
{
    __m256i values[STK_ROWS_TOGETHER];
    UNROLLED
    for (size_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        size_t at = pass.bytes * (size_t)taps->first[o + i];
        values[i] = weigh(in[0] + at, in[1] + at, taps->weights + (o + i) * pass.groups, pass);
    }
    __m256i low = _mm256_packs_epi32(values[0], values[1]);
    __m256i high = _mm256_packs_epi32(values[2], values[3]);
    _mm256_storeu2_m128i((void *)(out[1] + 4 * o), (void *)(out[0] + 4 * o),
                         _mm256_packus_epi16(low, high));
}

INLINE void rows_of(uint8_t *const *out, const uint8_t *const *in, const struct stk_taps *taps,
                    size_t groups, bool short_end, size_t bytes)
{
    const struct short_pass pass = {rounding_of(taps->bits), groups, bytes, short_end};
    for (size_t o = 0; o < taps->outputs; o += STK_ROWS_TOGETHER) {
        weigh_two(out, in, taps, o, pass);
        weigh_two(out + 2, in + 2, taps, o, pass);
    }
}

INLINE void horizontal_rows(uint8_t *const *out, const uint8_t *const *in,
                            const struct stk_taps *taps, size_t groups, bool short_end)
{
    rows_of(out, in, taps, groups, short_end, 4);
}

INLINE void horizontal_rows_of_three(uint8_t *const *out, const uint8_t *const *in,
                                     const struct stk_taps *taps, size_t groups, bool short_end)
{
    rows_of(out, in, taps, groups, short_end, 3);
}

TARGET void stk_avx2_horizontal_short(uint8_t *const *out, const uint8_t *const *in,
                                      const struct stk_taps *taps)
{
    stk_avx2_by_groups(horizontal_rows, out, in, taps);
}

TARGET void stk_avx2_horizontal_three(uint8_t *const *out, const uint8_t *const *in,
                                      const struct stk_taps *taps)
{
    stk_avx2_by_groups(horizontal_rows_of_three, out, in, taps);
}

/* ---- down a column ---- */

/* Adds two rows, interleaved to 16 bits. */
INLINE void add_pair(__m256i sums[4], const uint8_t *row0, const uint8_t *row1, int32_t pair)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i one = _mm256_loadu_si256((const void *)row0);
    __m256i other = _mm256_loadu_si256((const void *)row1);
    __m256i a = _mm256_unpacklo_epi8(one, other), b = _mm256_unpackhi_epi8(one, other);
    sums[0] = add(sums[0], _mm256_unpacklo_epi8(a, zero), pair);
    sums[1] = add(sums[1], _mm256_unpackhi_epi8(a, zero), pair);
    sums[2] = add(sums[2], _mm256_unpacklo_epi8(b, zero), pair);
    sums[3] = add(sums[3], _mm256_unpackhi_epi8(b, zero), pair);
}

TARGET void stk_avx2_vertical_short(uint8_t *out, const uint8_t *const *rows,
                                    const struct stk_weights *weights, uint32_t groups,
                                    size_t pixels, uint32_t bits)
{
    const struct short_rounding round = rounding_of(bits);
    bool short_end = weights[groups - 1].word[1] == 0;
    for (size_t at = 0; at < 4 * pixels; at += 32) {
        __m256i sums[4] = {round.half, round.half, round.half, round.half};
        for (uint32_t g = 0; g < groups; g++) {
            const uint8_t *const *row = rows + 4 * (size_t)g;
            add_pair(sums, row[0] + at, row[1] + at, weights[g].word[0]);
            if (!short_end || g + 1 < groups) {
                add_pair(sums, row[2] + at, row[3] + at, weights[g].word[1]);
            }
        }
        UNROLLED
        for (int i = 0; i < 4; i++) {
            sums[i] = _mm256_sra_epi32(sums[i], round.bits);
        }
        __m256i a = _mm256_packs_epi32(sums[0], sums[1]);
        __m256i b = _mm256_packs_epi32(sums[2], sums[3]);
        _mm256_storeu_si256((void *)(out + at), _mm256_packus_epi16(a, b));
    }
}
