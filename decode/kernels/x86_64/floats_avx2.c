/* The passes of a resize by floats in AVX2, which the other tables have, too. */
#include "decode/kernels/x86_64/avx2.h"

/* The sums of four pixels. */
struct float_sums {
    __m256 low, high;
};

INLINE struct float_sums product(const float *in, float weight)
{
    __m256 w = _mm256_set1_ps(weight);
    return (struct float_sums){_mm256_mul_ps(_mm256_loadu_ps(in), w),
                               _mm256_mul_ps(_mm256_loadu_ps(in + 8), w)};
}

/* Adds a product that is rounded. */
INLINE void add(struct float_sums *sums, const float *in, float weight)
{
    struct float_sums more = product(in, weight);
    sums->low = _mm256_add_ps(sums->low, more.low);
    sums->high = _mm256_add_ps(sums->high, more.high);
}

/* Adds a product that is not rounded. */
INLINE void fuse(struct float_sums *sums, const float *in, float weight)
{
    __m256 w = _mm256_set1_ps(weight);
    sums->low = _mm256_fmadd_ps(_mm256_loadu_ps(in), w, sums->low);
    sums->high = _mm256_fmadd_ps(_mm256_loadu_ps(in + 8), w, sums->high);
}

INLINE __m256 floats_of(const uint8_t *bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)bytes)));
}

/* Puts a pixel of each row side by side, and the next ones behind them. Two pixels of a row are
 * read, the last time one behind its end. */
INLINE void put_aside(float *aside, const uint8_t *const *in, size_t pixels)
{
    for (size_t p = 0; p < pixels; p += 2) {
        UNROLLED
        for (size_t row = 0; row < STK_ROWS_TOGETHER; row++) {
            __m256 two = floats_of(in[row] + 4 * p);
            float *to = aside + 16 * p + 4 * row;
            _mm_store_ps(to, _mm256_castps256_ps128(two));
            if (p + 1 < pixels) {
                _mm_store_ps(to + 16, _mm256_extractf128_ps(two, 1));
            }
        }
    }
}

/* Returns the sums of one output for four rows. */
INLINE struct float_sums columns_of(const float *in, const float *weights, uint32_t count)
{
    struct float_sums sums = product(in, weights[0]);
    uint32_t i = 1;
    for (; i + 4 <= count; i += 4) {
        UNROLLED
        for (uint32_t k = 0; k < 4; k++) {
            add(&sums, in + 16 * (size_t)(i + k), weights[i + k]);
        }
    }
    for (; i < count; i++) {
        fuse(&sums, in + 16 * (size_t)i, weights[i]);
    }
    return sums;
}

TARGET void stk_avx2_float_columns(float *const out[], const uint8_t *const *in, size_t pixels,
                                   float *aside, const struct stk_float_taps *taps)
{
    put_aside(aside, in, pixels);
    for (size_t o = 0; o < taps->outputs; o++) {
        struct float_sums sums = columns_of(aside + 16 * (size_t)taps->first[o],
                                            taps->weights + o * taps->longest, taps->lengths[o]);
        _mm_storeu_ps(out[0] + 4 * o, _mm256_castps256_ps128(sums.low));
        _mm_storeu_ps(out[1] + 4 * o, _mm256_extractf128_ps(sums.low, 1));
        _mm_storeu_ps(out[2] + 4 * o, _mm256_castps256_ps128(sums.high));
        _mm_storeu_ps(out[3] + 4 * o, _mm256_extractf128_ps(sums.high, 1));
    }
}

/* Returns the sums of four pixels of the rows. */
INLINE struct float_sums rows_of(const float *const *rows, size_t at, const float *weights,
                                 uint32_t count)
{
    struct float_sums sums = product(rows[0] + at, weights[0]);
    uint32_t i = 1;
    for (; i + 4 <= count; i += 4) {
        UNROLLED
        for (uint32_t k = 0; k < 4; k++) {
            add(&sums, rows[i + k] + at, weights[i + k]);
        }
    }
    for (; i < count; i++) {
        fuse(&sums, rows[i] + at, weights[i]);
    }
    return sums;
}

TARGET void stk_avx2_float_rows(uint8_t *out, const float *const *rows, const float *weights,
                                uint32_t count, size_t pixels)
{
    for (size_t at = 0; at < 4 * pixels; at += 16) {
        struct float_sums sums = rows_of(rows, at, weights, count);
        __m256i words =
            _mm256_packs_epi32(_mm256_cvtps_epi32(sums.low), _mm256_cvtps_epi32(sums.high));
        words = _mm256_permute4x64_epi64(words, 0xd8);
        _mm_storeu_si128((void *)(out + at), _mm_packus_epi16(_mm256_castsi256_si128(words),
                                                              _mm256_extracti128_si256(words, 1)));
    }
}
