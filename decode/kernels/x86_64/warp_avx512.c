/* Warped images in AVX-512. */
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#include "decode/kernels/warp_loops.h"

typedef __m512d two_rows;

INNER two_rows doubles_of(__m128i words)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(words));
}

INNER two_rows rows_between(two_rows from, two_rows step, double part)
{
    return _mm512_add_pd(from, _mm512_mul_pd(step, _mm512_set1_pd(part)));
}

INNER __m256d first_of(two_rows rows)
{
    return _mm512_castpd512_pd256(rows);
}

INNER __m256d second_of(two_rows rows)
{
    return _mm512_extractf64x4_pd(rows, 1);
}

#include "decode/kernels/x86_64/warp_pixels.h"

bool stk_avx512_warp(uint8_t *out, const struct stk_warp *warp, uint32_t row, size_t count)
{
    return warp_row(out, warp, row, count);
}
