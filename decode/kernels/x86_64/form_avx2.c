/*
 * The form's kernels in AVX2. Tables shuffle values together: BMI2's own instruction for it takes
 * some processors a hundred times as long as others.
 */
#include "decode/kernels/ranks.h"
#include "decode/kernels/gathers.h"
#include "decode/kernels/planes.h"

#include <immintrin.h>

#define FEATURES "avx2,bmi,bmi2,popcnt"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

#define STK_COUNT_ONES(mask) ((unsigned)_mm_popcnt_u64(mask))
#define STK_FIRST_ONE(mask)  _tzcnt_u64(mask)

typedef uint8_t chars __attribute__((vector_size(32)));
typedef int16_t shorts __attribute__((vector_size(32)));
typedef uint32_t bits;

INLINE bits signs_of(chars some)
{
    return (bits)_mm256_movemask_epi8((__m256i)some);
}

INLINE chars magnitudes(chars values)
{
    return (chars)_mm256_abs_epi8((__m256i)values);
}

INLINE shorts short_magnitudes(shorts some)
{
    return (shorts)_mm256_abs_epi16((__m256i)some);
}

INLINE chars narrow(shorts low, shorts high)
{
    __m256i both = _mm256_packs_epi16((__m256i)low, (__m256i)high);
    return (chars)_mm256_permute4x64_epi64(both, 0xd8);
}

INLINE shorts widen_low(chars values)
{
    return (shorts)_mm256_cvtepi8_epi16(_mm256_castsi256_si128((__m256i)values));
}

INLINE shorts widen_high(chars values)
{
    return (shorts)_mm256_cvtepi8_epi16(_mm256_extracti128_si256((__m256i)values, 1));
}

INLINE chars spread(bits some)
{
    const __m256i byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                          2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((long long)UINT64_C(0x8040201008040201));
    __m256i eight_times = _mm256_shuffle_epi8(_mm256_set1_epi32((int)some), byte);
    return (chars)_mm256_cmpeq_epi8(_mm256_and_si256(eight_times, bit), bit);
}

INLINE chars negate(chars some, bits flags)
{
    chars minus = spread(flags);
    return (some ^ minus) - minus;
}

/* Puts those of the lowest eight bytes that the flags say. */
INLINE uint8_t *put_eight(uint8_t *to, bits flags, __m128i eight)
{
    __m128i shuffle = _mm_loadl_epi64((const void *)&stk_gathers[flags & 255]);
    _mm_storel_epi64((void *)to, _mm_shuffle_epi8(eight, shuffle));
    return to + _mm_popcnt_u32(flags & 255);
}

INLINE uint8_t *put_some(uint8_t *to, bits flags, chars some)
{
    __m128i low = _mm256_castsi256_si128((__m256i)some);
    __m128i high = _mm256_extracti128_si256((__m256i)some, 1);
    to = put_eight(to, flags, low);
    to = put_eight(to, flags >> 8, _mm_unpackhi_epi64(low, low));
    to = put_eight(to, flags >> 16, high);
    return put_eight(to, flags >> 24, _mm_unpackhi_epi64(high, high));
}

/* Eight places: 0, and where the flags say the next ones of `larger`. */
INLINE __m128i take_eight(bits flags, const uint8_t **larger)
{
    __m128i some = _mm_shuffle_epi8(_mm_loadl_epi64((const void *)*larger),
                                    _mm_loadl_epi64((const void *)stk_ranks[flags & 255]));
    *larger += _mm_popcnt_u32(flags & 255);
    return some;
}

INLINE chars take_some(bits flags, const uint8_t **larger)
{
    __m128i a = take_eight(flags, larger), b = take_eight(flags >> 8, larger);
    __m128i c = take_eight(flags >> 16, larger), d = take_eight(flags >> 24, larger);
    __m256i all = _mm256_setr_m128i(_mm_unpacklo_epi64(a, b), _mm_unpacklo_epi64(c, d));
    return (chars)_mm256_max_epu8(all, _mm256_set1_epi8(1));
}

#include "decode/kernels/plane_loops.h"
#include "decode/kernels/masks.h"

const struct stk_form_kernels stk_form_avx2 = STK_FORM_KERNELS;
