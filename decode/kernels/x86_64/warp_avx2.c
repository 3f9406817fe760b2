/* Warped images in AVX2. */
#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#include "decode/kernels/warp_loops.h"

typedef struct {
    __m256d first, second;
} two_rows;

INNER two_rows doubles_of(__m128i words)
{
    __m256i wide = _mm256_cvtepi16_epi32(words);
    return (two_rows){_mm256_cvtepi32_pd(_mm256_castsi256_si128(wide)),
                      _mm256_cvtepi32_pd(_mm256_extracti128_si256(wide, 1))};
}

INNER two_rows rows_between(two_rows from, two_rows step, double part)
{
    __m256d parts = _mm256_set1_pd(part);
    return (two_rows){_mm256_add_pd(from.first, _mm256_mul_pd(step.first, parts)),
                      _mm256_add_pd(from.second, _mm256_mul_pd(step.second, parts))};
}

INNER __m256d first_of(two_rows rows)
{
    return rows.first;
}

INNER __m256d second_of(two_rows rows)
{
    return rows.second;
}

#include "decode/kernels/x86_64/warp_pixels.h"

bool stk_avx2_warp(uint8_t *out, const struct stk_warp *warp, uint32_t row, size_t count)
{
    return warp_row(out, warp, row, count);
}
