/*
 * The four bytes of a pixel as numbers of 16 bits, side by side.
 *
 * They lie in a register from one pixel to the next, since each pixel needs the one before. On
 * x86-64 they are spelled out: compilers take a third longer with the vectors that they know.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

typedef __m128i stk_lanes;

static inline stk_lanes stk_lanes_of(uint32_t pixel)
{
    return _mm_unpacklo_epi8(_mm_cvtsi32_si128((int)pixel), _mm_setzero_si128());
}

/* The lanes are below 256. */
static inline uint32_t stk_lanes_pixel(stk_lanes a)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(a, a));
}

/* Sums of lanes below 256, modulo 256. */
static inline stk_lanes stk_lanes_add(stk_lanes a, stk_lanes b)
{
    return _mm_add_epi8(a, b);
}

static inline stk_lanes stk_lanes_mean(stk_lanes a, stk_lanes b)
{
    return _mm_srli_epi16(_mm_add_epi16(a, b), 1);
}

static inline stk_lanes stk_lanes_magnitude(stk_lanes a)
{
    return _mm_max_epi16(a, _mm_sub_epi16(_mm_setzero_si128(), a));
}

static inline stk_lanes stk_lanes_choose(stk_lanes mask, stk_lanes a, stk_lanes b)
{
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}

/*
 * Returns the one of left (a), above (b) and above left (c) that is nearest to a + b - c; of
 * equally near ones the first. Few steps depend on `a`, which is known last.
 */
static inline stk_lanes stk_lanes_paeth(stk_lanes a, stk_lanes b, stk_lanes c)
{
    stk_lanes across = _mm_sub_epi16(b, c), down = _mm_sub_epi16(a, c);
    stk_lanes to_a = stk_lanes_magnitude(across), to_b = stk_lanes_magnitude(down);
    stk_lanes to_c = stk_lanes_magnitude(_mm_add_epi16(across, down));
    stk_lanes other = stk_lanes_choose(_mm_cmpgt_epi16(to_b, to_c), c, b);
    return stk_lanes_choose(_mm_cmpgt_epi16(to_a, _mm_min_epi16(to_b, to_c)), other, a);
}

#else

typedef int16_t stk_lanes __attribute__((vector_size(8)));
typedef uint8_t stk_four_bytes __attribute__((vector_size(4)));

static inline stk_lanes stk_lanes_of(uint32_t pixel)
{
    stk_four_bytes bytes;
    memcpy(&bytes, &pixel, sizeof bytes);
    return __builtin_convertvector(bytes, stk_lanes);
}

static inline uint32_t stk_lanes_pixel(stk_lanes a)
{
    uint32_t pixel;
    stk_four_bytes bytes = __builtin_convertvector(a, stk_four_bytes);
    memcpy(&pixel, &bytes, sizeof pixel);
    return pixel;
}

static inline stk_lanes stk_lanes_add(stk_lanes a, stk_lanes b)
{
    return (a + b) & 255;
}

static inline stk_lanes stk_lanes_mean(stk_lanes a, stk_lanes b)
{
    return (a + b) >> 1;
}

static inline stk_lanes stk_lanes_choose(stk_lanes mask, stk_lanes a, stk_lanes b)
{
    return (a & mask) | (b & ~mask);
}

static inline stk_lanes stk_lanes_magnitude(stk_lanes a)
{
    return stk_lanes_choose(a < 0, -a, a);
}

static inline stk_lanes stk_lanes_paeth(stk_lanes a, stk_lanes b, stk_lanes c)
{
    stk_lanes to_a = stk_lanes_magnitude(b - c), to_b = stk_lanes_magnitude(a - c);
    stk_lanes to_c = stk_lanes_magnitude(a + b - c - c);
    stk_lanes other = stk_lanes_choose(to_b > to_c, c, b);
    return stk_lanes_choose((to_a > to_b) | (to_a > to_c), other, a);
}

#endif
