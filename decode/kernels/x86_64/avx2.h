/* Common parts of the kernels in AVX2. */
#pragma once

#include "decode/kernels/ranks.h"
#include "decode/kernels/kernels.h"

#include <immintrin.h>
#include <stdbool.h>

#define TARGET __attribute__((target("avx2,fma,popcnt")))
#define INLINE static inline __attribute__((target("avx2,fma,popcnt"), always_inline))

/* Without it gcc -O2 would keep arrays of vectors in memory. */
#define UNROLLED _Pragma("GCC unroll 8")

/* The passes of the table for VNNI: see struct stk_kernels. */
void stk_vnni_pack(struct stk_weights *weights, size_t count);
void stk_vnni_horizontal(uint8_t *const *out, const uint8_t *const *in,
                         const struct stk_taps *taps);
void stk_vnni_vertical(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                       uint32_t groups, size_t pixels);

stk_idct stk_avx2_idct;
stk_colour stk_avx2_colour;

/* Weighs all outputs of STK_ROWS_TOGETHER rows. */
typedef void stk_avx2_rows(uint8_t *const *out, const uint8_t *const *in,
                           const struct stk_taps *taps, size_t groups, bool short_end);

/* Calls `rows`, an inline function, with `groups` and `short_end` known to the compiler where that
 * pays. */
INLINE void stk_avx2_by_groups(stk_avx2_rows *rows, uint8_t *const *out, const uint8_t *const *in,
                               const struct stk_taps *taps)
{
    bool short_end = taps->last <= 2;
    if (taps->groups == 1 && short_end) {
        rows(out, in, taps, 1, true);
    } else if (taps->groups == 1) {
        rows(out, in, taps, 1, false);
    } else if (taps->groups == 2 && short_end) {
        rows(out, in, taps, 2, true);
    } else if (taps->groups == 2) {
        rows(out, in, taps, 2, false);
    } else {
        rows(out, in, taps, taps->groups, short_end);
    }
}

#define STK_FROM_PART(part, place)                                                                 \
    ((place) / 16 == (part) ? (char)((place) % 16) : (char)STK_NO_RANK)
#define STK_SHUFFLE(places, part) _mm256_setr_epi8(places(STK_FROM_PART, part))

/* Spreads the values of sixteen places of a mask, in both halves; `values` moves on behind them. */
INLINE __m256i stk_avx2_spread(unsigned mask, const int8_t **values)
{
    __m128i low = _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)(const void *)*values),
                                   _mm_loadl_epi64((const void *)stk_ranks[mask & 255]));
    *values += _mm_popcnt_u32(mask & 255);
    __m128i high = _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)(const void *)*values),
                                    _mm_loadl_epi64((const void *)stk_ranks[mask >> 8]));
    *values += _mm_popcnt_u32(mask >> 8);
    return _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(low, high));
}

/* A block's bytes, line by line. */
struct stk_values {
    __m256i upper, lower;
};

INLINE struct stk_values stk_avx2_values(uint64_t mask, const int8_t *at)
{
    __m256i a = stk_avx2_spread(mask & 0xffff, &at), b = stk_avx2_spread(mask >> 16 & 0xffff, &at);
    __m256i c = stk_avx2_spread(mask >> 32 & 0xffff, &at);
    __m256i d = stk_avx2_spread((unsigned)(mask >> 48), &at);
    __m256i upper = _mm256_or_si256(_mm256_shuffle_epi8(a, STK_SHUFFLE(STK_PLACES_UPPER, 0)),
                                    _mm256_shuffle_epi8(b, STK_SHUFFLE(STK_PLACES_UPPER, 1)));
    __m256i lower = _mm256_or_si256(_mm256_shuffle_epi8(a, STK_SHUFFLE(STK_PLACES_LOWER, 0)),
                                    _mm256_shuffle_epi8(b, STK_SHUFFLE(STK_PLACES_LOWER, 1)));
    upper = _mm256_or_si256(upper, _mm256_shuffle_epi8(c, STK_SHUFFLE(STK_PLACES_UPPER, 2)));
    lower = _mm256_or_si256(lower, _mm256_shuffle_epi8(c, STK_SHUFFLE(STK_PLACES_LOWER, 2)));
    upper = _mm256_or_si256(upper, _mm256_shuffle_epi8(d, STK_SHUFFLE(STK_PLACES_UPPER, 3)));
    lower = _mm256_or_si256(lower, _mm256_shuffle_epi8(d, STK_SHUFFLE(STK_PLACES_LOWER, 3)));
    return (struct stk_values){upper, lower};
}
