/*
 * The form's kernels in AVX-512 with VBMI2, 64 values or 8 masks at a time. Compressing goes to a
 * register and from there to memory, all 64 bytes: straight to memory it takes thirty times as
 * long.
 */
#include "decode/kernels/planes.h"

#include <immintrin.h>

#define FEATURES "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

#define STK_COUNT_ONES(mask) _mm_popcnt_u64(mask)
#define STK_FIRST_ONE(mask)  _tzcnt_u64(mask)

typedef uint8_t chars __attribute__((vector_size(64)));
typedef int16_t shorts __attribute__((vector_size(64)));
typedef uint64_t bits;

INLINE bits signs_of(chars some)
{
    return _mm512_movepi8_mask((__m512i)some);
}

INLINE chars spread(bits some)
{
    return (chars)_mm512_movm_epi8(some);
}

INLINE chars magnitudes(chars values)
{
    return (chars)_mm512_abs_epi8((__m512i)values);
}

INLINE shorts short_magnitudes(shorts some)
{
    return (shorts)_mm512_abs_epi16((__m512i)some);
}

INLINE chars narrow(shorts low, shorts high)
{
    __m512i some = _mm512_castsi256_si512(_mm512_cvtsepi16_epi8((__m512i)low));
    return (chars)_mm512_inserti64x4(some, _mm512_cvtsepi16_epi8((__m512i)high), 1);
}

INLINE shorts widen_low(chars values)
{
    return (shorts)_mm512_cvtepi8_epi16(_mm512_castsi512_si256((__m512i)values));
}

INLINE shorts widen_high(chars values)
{
    return (shorts)_mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64((__m512i)values, 1));
}

INLINE chars negate(chars some, bits flags)
{
    __m512i value = (__m512i)some;
    return (chars)_mm512_mask_sub_epi8(value, flags, _mm512_setzero_si512(), value);
}

INLINE uint8_t *put_some(uint8_t *to, bits flags, chars some)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(flags, (__m512i)some));
    return to + _mm_popcnt_u64(flags);
}

INLINE chars take_some(bits flags, const uint8_t **larger)
{
    __m512i some = _mm512_loadu_si512(*larger);
    *larger += _mm_popcnt_u64(flags);
    return (chars)_mm512_mask_expand_epi8(_mm512_set1_epi8(1), flags, some);
}

#include "decode/kernels/plane_loops.h"

/* ---- masks: eight at a time, whose lengths are eight half bytes ---- */

/* Eight lengths, as bytes, to what each of them means. */
INLINE uint64_t look_up(__m128i table, uint64_t lengths)
{
    __m128i found = _mm_shuffle_epi8(table, _mm_cvtsi64_si128((long long)lengths));
    return (uint64_t)_mm_cvtsi128_si64(found);
}

INLINE uint64_t spread_halves(uint64_t halves)
{
    return _pdep_u64(halves, UINT64_C(0x0f0f0f0f0f0f0f0f));
}

/* A bit for each whole byte of a mask, in a byte for each mask. */
INLINE uint64_t whole_bytes(uint64_t lengths)
{
    return look_up(_mm_setr_epi8(0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 31, 31, 63, 63, 127, -1), lengths);
}

/* A bit for the byte that half a byte makes. */
INLINE uint64_t half_bytes(uint64_t lengths)
{
    return look_up(_mm_setr_epi8(0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32, 0, 64, 0, 0), lengths);
}

/* In each byte all bits below its highest one, and that. */
INLINE uint64_t fill_down(uint64_t bytes)
{
    bytes |= bytes >> 1 & UINT64_C(0x7f7f7f7f7f7f7f7f);
    bytes |= bytes >> 2 & UINT64_C(0x3f3f3f3f3f3f3f3f);
    return bytes | (bytes >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f));
}

/* The ones in each byte. */
INLINE uint64_t ones_of_bytes(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

/* Half bytes that have not made a word yet. */
struct halves {
    uint8_t *to;
    uint64_t word;
    unsigned bits;
    size_t count;
};

INLINE void put_halves(struct halves *halves, uint64_t some, unsigned count)
{
    halves->word |= some << halves->bits;
    memcpy(halves->to, &halves->word, sizeof halves->word);
    halves->bits += 4 * count;
    halves->to += halves->bits / 8;
    halves->word >>= halves->bits & ~7u;
    halves->bits &= 7;
    halves->count += count;
}

/* Eight masks; returns their lengths. */
INLINE uint32_t put_masks(uint8_t **whole, struct halves *halves, __m512i masks)
{
    const __m512i high = _mm512_set1_epi8((char)0xf0);
    uint64_t used = fill_down(_mm512_test_epi8_mask(masks, masks));
    uint64_t top = used & ~(used >> 1 & UINT64_C(0x7f7f7f7f7f7f7f7f));
    /* The eighth byte is a whole one also where half of it would do. */
    uint64_t odd = top & ~_mm512_test_epi8_mask(masks, high) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t kept = used & ~odd;
    _mm512_storeu_si512(*whole, _mm512_maskz_compress_epi8(kept, masks));
    *whole += _mm_popcnt_u64(kept);
    __m128i some = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(odd, masks));
    put_halves(halves, _pext_u64((uint64_t)_mm_cvtsi128_si64(some), UINT64_C(0x0f0f0f0f0f0f0f0f)),
               (unsigned)_mm_popcnt_u64(odd));
    uint64_t lengths = 2 * ones_of_bytes(kept) + ones_of_bytes(odd);
    lengths -= lengths >> 4 & UINT64_C(0x0101010101010101);
    return (uint32_t)_pext_u64(lengths, UINT64_C(0x0f0f0f0f0f0f0f0f));
}

TARGET static struct stk_mask_bytes stk_masks_pack(uint8_t *lengths, uint8_t *whole,
                                                   uint8_t *halves, const uint64_t *masks,
                                                   size_t blocks)
{
    uint8_t *to = whole;
    struct halves rest = {.to = halves};
    for (size_t i = 0; i < blocks; i += 8) {
        size_t some = blocks - i < 8 ? blocks - i : 8;
        __m512i eight = _mm512_maskz_loadu_epi64((__mmask8)first_bits(some), masks + i);
        uint32_t found = put_masks(&to, &rest, _mm512_srli_epi64(eight, 1));
        _mm_mask_storeu_epi8(lengths + i / 2, (__mmask16)first_bits((some + 1) / 2),
                             _mm_cvtsi32_si128((int)found));
    }
    return (struct stk_mask_bytes){(size_t)(to - whole), rest.count};
}

/* Eight lengths, of which there are `some` blocks. */
INLINE uint64_t load_lengths(const uint8_t *lengths, size_t i, size_t some)
{
    __mmask16 there = (__mmask16)first_bits((some + 1) / 2);
    uint64_t halves = (uint32_t)_mm_cvtsi128_si32(_mm_maskz_loadu_epi8(there, lengths + i / 2));
    return spread_halves(_bzhi_u64(halves, (unsigned)(4 * some)));
}

TARGET static size_t stk_masks_unpack(uint64_t *masks, const uint8_t *lengths, const uint8_t *whole,
                                      const uint8_t *halves, size_t blocks)
{
    size_t values = 0, half = 0;
    for (size_t i = 0; i < blocks; i += 8) {
        size_t some = blocks - i < 8 ? blocks - i : 8;
        uint64_t length = load_lengths(lengths, i, some), word;
        uint64_t kept = whole_bytes(length), odd = half_bytes(length);
        memcpy(&word, halves + half / 2, sizeof word);
        word = spread_halves(word >> half % 2 * 4);
        /* No more bytes are read than there are, and 8. */
        size_t bytes = (size_t)_mm_popcnt_u64(kept);
        __m512i mask =
            _mm512_maskz_expand_epi8(kept, _mm512_maskz_loadu_epi8(first_bits(bytes), whole));
        mask = _mm512_mask_expand_epi8(mask, odd,
                                       _mm512_castsi128_si512(_mm_cvtsi64_si128((long long)word)));
        _mm512_storeu_si512(masks + i, _mm512_slli_epi64(mask, 1));
        whole += bytes;
        half += (size_t)_mm_popcnt_u64(odd);
        for (size_t each = i; each < i + 8; each++) {
            values += (size_t)_mm_popcnt_u64(masks[each]);
        }
    }
    return values;
}

TARGET static struct stk_mask_bytes stk_masks_measure(const uint8_t *lengths, size_t blocks)
{
    struct stk_mask_bytes sum = {0, 0};
    for (size_t i = 0; i < blocks; i += 8) {
        uint64_t length = load_lengths(lengths, i, blocks - i < 8 ? blocks - i : 8);
        sum.whole += (size_t)_mm_popcnt_u64(whole_bytes(length));
        sum.halves += (size_t)_mm_popcnt_u64(half_bytes(length));
    }
    return sum;
}

const struct stk_form_kernels stk_form_avx512 = STK_FORM_KERNELS;
