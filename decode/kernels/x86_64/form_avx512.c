/*
 * The form's kernels in AVX-512 with VBMI2, 64 values or 8 masks at a time. Compressing goes to a
 * register and from there to memory, all 64 bytes: straight to memory it takes thirty times as long.
 */
#include "decode/form/planes.h"

#include <immintrin.h>
#include <string.h>

#define FEATURES                                                                                   \
    "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt"
#define TARGET __attribute__((target(FEATURES)))
#define INLINE static inline __attribute__((target(FEATURES), always_inline))

#define STK_GATHER_INLINE    INLINE
#define STK_COUNT_ONES(mask) _mm_popcnt_u64(mask)
#include "decode/form/gather.h"

TARGET static void gather(struct stk_gathering *gathering, size_t blocks)
{
    stk_gather_blocks(gathering, blocks);
}

/* ---- planes ---- */

INLINE uint64_t first_bits(size_t count)
{
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

INLINE uint64_t load_bits(const uint8_t *plane, size_t at)
{
    uint64_t bits;
    memcpy(&bits, plane + at / 8, sizeof bits);
    return bits;
}

/* Up to 64, of a plane that ends with them if they are fewer. */
INLINE void store_bits(uint8_t *plane, size_t at, uint64_t bits, size_t count)
{
    if (count >= 64) {
        memcpy(plane + at / 8, &bits, sizeof bits);
    } else {
        bits &= first_bits(count);
        _mm_mask_storeu_epi8(plane + at / 8, (__mmask16)first_bits(stk_plane_bytes(count)),
                             _mm_cvtsi64_si128((long long)bits));
    }
}

/* Those that the mask says, one behind the other; what is written behind them means nothing. */
INLINE uint8_t *put_some(uint8_t *to, uint64_t which, size_t count, __m512i values)
{
    which &= first_bits(count);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(which, values));
    return to + _mm_popcnt_u64(which);
}

TARGET static size_t pack_signs(uint8_t *signs, uint8_t *flags, uint8_t *larger,
                                const int8_t *values, size_t count)
{
    const __m512i one = _mm512_set1_epi8(1);
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 64) {
        __m512i value = _mm512_loadu_si512(values + at);
        __m512i magnitude = _mm512_abs_epi8(value);
        uint64_t flag = _mm512_cmpgt_epu8_mask(magnitude, one);
        store_bits(signs, at, _mm512_movepi8_mask(value), count - at);
        store_bits(flags, at, flag, count - at);
        to = put_some(to, flag, count - at, magnitude);
    }
    return (size_t)(to - larger);
}

TARGET static size_t pack_bits(uint8_t *bits, uint8_t *flags, uint8_t *larger,
                               const uint8_t *values, size_t count)
{
    const __m512i one = _mm512_set1_epi8(1), three = _mm512_set1_epi8(3);
    const __m512i low = _mm512_set1_epi8(127);
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 64) {
        __m512i value = _mm512_loadu_si512(values + at);
        store_bits(bits, at, _mm512_test_epi8_mask(value, one), count - at);
        if (flags) {
            uint64_t flag = _mm512_cmpgt_epu8_mask(value, three);
            __m512i rest = _mm512_and_si512(_mm512_srli_epi16(value, 1), low);
            store_bits(flags, at, flag, count - at);
            to = put_some(to, flag, count - at, rest);
        }
    }
    return (size_t)(to - larger);
}

TARGET static size_t count_ones(const uint8_t *plane, size_t bits)
{
    size_t count = 0, at = 0;
    for (; at + 64 <= bits; at += 64) {
        count += (size_t)_mm_popcnt_u64(load_bits(plane, at));
    }
    return count + (size_t)_mm_popcnt_u64(load_bits(plane, at) & first_bits(bits - at));
}

TARGET static void unpack_signs(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                                const uint8_t *larger, size_t count)
{
    const __m512i one = _mm512_set1_epi8(1), zero = _mm512_setzero_si512();
    for (size_t at = 0; at < count; at += 64) {
        uint64_t flag = load_bits(flags, at);
        __m512i value = _mm512_mask_expand_epi8(one, flag, _mm512_loadu_si512(larger));
        larger += _mm_popcnt_u64(flag);
        value = _mm512_mask_sub_epi8(value, load_bits(signs, at), zero, value);
        _mm512_storeu_si512(values + at, value);
    }
}

TARGET static void unpack_bits(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                               const uint8_t *larger, size_t count)
{
    const __m512i one = _mm512_set1_epi8(1);
    for (size_t at = 0; at < count; at += 64) {
        __m512i value = one;
        if (flags) {
            uint64_t flag = load_bits(flags, at);
            value = _mm512_mask_expand_epi8(one, flag, _mm512_loadu_si512(larger));
            larger += _mm_popcnt_u64(flag);
        }
        value = _mm512_add_epi8(value, value);
        value = _mm512_mask_add_epi8(value, load_bits(bits, at), value, one);
        _mm512_storeu_si512(values + at, value);
    }
}

TARGET static size_t count_largest(const int8_t *values, size_t count)
{
    const __m512i largest = _mm512_set1_epi8(127);
    size_t found = 0;
    for (size_t at = 0; at < count; at += 64) {
        __m512i value = _mm512_loadu_si512(values + at);
        uint64_t which = _mm512_cmpeq_epi8_mask(_mm512_abs_epi8(value), largest);
        found += (size_t)_mm_popcnt_u64(which & first_bits(count - at));
    }
    return found;
}

/* ---- masks ---- */

/* From 8 half bytes to which bytes of 8 masks there are; and how many in all. */
INLINE uint64_t kept_bytes(uint32_t halves, size_t *count)
{
    const __m128i lowest = _mm_setr_epi8(0, 1, 3, 7, 15, 31, 63, 127, -1, -1, -1, -1, -1, -1, -1, -1);
    uint64_t lengths = _pdep_u64(halves, UINT64_C(0x0f0f0f0f0f0f0f0f));
    *count = (size_t)(lengths * UINT64_C(0x0101010101010101) >> 56);
    __m128i kept = _mm_shuffle_epi8(lowest, _mm_cvtsi64_si128((long long)lengths));
    return (uint64_t)_mm_cvtsi128_si64(kept);
}

/* The bytes of each mask up to its highest that is not zero, as one bit each. */
INLINE uint64_t needed_bytes(__m512i masks)
{
    uint64_t some = _mm512_test_epi8_mask(masks, masks);
    some |= some >> 1 & UINT64_C(0x7f7f7f7f7f7f7f7f);
    some |= some >> 2 & UINT64_C(0x3f3f3f3f3f3f3f3f);
    return some | (some >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f));
}

/* How many ones each byte has, which has none above a zero. */
INLINE uint32_t halves_of(uint64_t needed)
{
    uint64_t word = needed - (needed >> 1 & UINT64_C(0x5555555555555555));
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)_pext_u64(word, UINT64_C(0x0f0f0f0f0f0f0f0f));
}

TARGET static size_t pack_masks(uint8_t *halves, uint8_t *bytes, const uint64_t *masks,
                                size_t blocks)
{
    uint8_t *to = bytes;
    for (size_t i = 0; i < blocks; i += 8) {
        size_t some = blocks - i < 8 ? blocks - i : 8;
        __m512i mask = _mm512_maskz_loadu_epi64((__mmask8)first_bits(some), masks + i);
        mask = _mm512_srli_epi64(mask, 1);
        uint64_t needed = needed_bytes(mask);
        uint32_t four = halves_of(needed);
        memcpy(halves + i / 2, &four, some == 8 ? 4 : (some + 1) / 2);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(needed, mask));
        to += _mm_popcnt_u64(needed);
    }
    return (size_t)(to - bytes);
}

/* Of the last few blocks, of which there may be no more bytes to read than there are. */
INLINE uint64_t last_mask(const uint8_t *bytes, unsigned length)
{
    uint64_t mask;
    memcpy(&mask, bytes, sizeof mask);
    return _bzhi_u64(mask, 8 * length) << 1;
}

TARGET static size_t unpack_masks(uint64_t *masks, const uint8_t *halves, const uint8_t *bytes,
                                  size_t blocks)
{
    size_t i = 0, values = 0;
    for (; i + 16 <= blocks; i += 8) {
        uint32_t four;
        size_t length;
        memcpy(&four, halves + i / 2, sizeof four);
        uint64_t kept = kept_bytes(four, &length);
        __m512i mask = _mm512_maskz_expand_epi8(kept, _mm512_loadu_si512(bytes));
        _mm512_storeu_si512(masks + i, _mm512_slli_epi64(mask, 1));
        bytes += length;
        for (size_t each = i; each < i + 8; each++) {
            values += (size_t)_mm_popcnt_u64(masks[each]);
        }
    }
    for (; i < blocks; i++) {
        unsigned length = halves[i / 2] >> i % 2 * 4 & 15;
        masks[i] = last_mask(bytes, length);
        values += (size_t)_mm_popcnt_u64(masks[i]);
        bytes += length;
    }
    return values;
}

TARGET static size_t sum_halves(const uint8_t *halves, size_t blocks)
{
    const __m512i low = _mm512_set1_epi8(15);
    __m512i sums = _mm512_setzero_si512();
    size_t bytes = (blocks + 1) / 2;
    for (size_t at = 0; at < bytes; at += 64) {
        __m512i two = _mm512_maskz_loadu_epi8(first_bits(bytes - at), halves + at);
        __m512i sum = _mm512_add_epi8(_mm512_and_si512(two, low),
                                      _mm512_and_si512(_mm512_srli_epi16(two, 4), low));
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(sum, _mm512_setzero_si512()));
    }
    return (size_t)_mm512_reduce_add_epi64(sums) - (blocks % 2 ? halves[bytes - 1] >> 4 : 0);
}

/* ---- DC ---- */

TARGET static size_t pack_dc(int8_t *out, const int16_t *dc, size_t blocks)
{
    size_t escapes = 0;
    for (size_t at = 0; at < blocks; at += 32) {
        __mmask32 there = (__mmask32)first_bits(blocks - at < 32 ? blocks - at : 32);
        __m512i value = _mm512_maskz_loadu_epi16(there, dc + at);
        __mmask32 fit = _mm512_cmple_epi16_mask(_mm512_abs_epi16(value), _mm512_set1_epi16(127)) &
                        _mm512_cmpneq_epi16_mask(value, _mm512_set1_epi16(INT16_MIN));
        value = _mm512_mask_blend_epi16(fit, _mm512_set1_epi16(STK_DC_ESCAPE), value);
        _mm256_mask_storeu_epi8(out + at, there, _mm512_cvtepi16_epi8(value));
        escapes += (size_t)_mm_popcnt_u32(~fit & there);
    }
    return escapes;
}

TARGET static size_t unpack_dc(int16_t *dc, const int8_t *from, size_t blocks)
{
    size_t escapes = 0;
    for (size_t at = 0; at < blocks; at += 32) {
        __mmask32 there = (__mmask32)first_bits(blocks - at < 32 ? blocks - at : 32);
        __m256i bytes = _mm256_maskz_loadu_epi8(there, from + at);
        _mm512_storeu_si512(dc + at, _mm512_cvtepi8_epi16(bytes));
        escapes += (size_t)_mm_popcnt_u32(
            _mm256_cmpeq_epi8_mask(bytes, _mm256_set1_epi8(STK_DC_ESCAPE)));
    }
    return escapes;
}

const struct stk_form_kernels stk_form_avx512 = {
    .gather = gather,
    .pack_masks = pack_masks,
    .pack_signs = pack_signs,
    .pack_bits = pack_bits,
    .pack_dc = pack_dc,
    .unpack_masks = unpack_masks,
    .sum_halves = sum_halves,
    .count_ones = count_ones,
    .unpack_signs = unpack_signs,
    .unpack_bits = unpack_bits,
    .unpack_dc = unpack_dc,
    .count_largest = count_largest,
};
