/*
 * The form's kernels in AVX-512 with VBMI2, 64 values or 8 masks at a time. Compressing goes to a
 * register and from there to memory, all 64 bytes: straight to memory it takes thirty times as
 * long.
 */
#include "decode/kernels/planes.h"

#include <immintrin.h>
#include <string.h>

#define FEATURES "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

#define STK_GATHER_KERNEL     TARGET static
#define STK_COUNT_ONES(mask)  _mm_popcnt_u64(mask)
#define STK_COPY_64(to, from) _mm512_storeu_si512(to, _mm512_loadu_si512(from))
#include "decode/kernels/gather.h"

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

TARGET static size_t find_largest(uint32_t *places, const int8_t *values, size_t count)
{
    const __m512i largest = _mm512_set1_epi8(STK_FORM_LARGEST);
    size_t found = 0;
    for (size_t at = 0; at < count; at += 64) {
        __m512i value = _mm512_loadu_si512(values + at);
        uint64_t which = _mm512_cmpeq_epi8_mask(_mm512_abs_epi8(value), largest);
        which &= first_bits(count - at);
        /* Two without asking whether there are any: mostly there is none or one. */
        places[found] = (uint32_t)(at + _tzcnt_u64(which));
        places[found + 1] = (uint32_t)(at + _tzcnt_u64(_blsr_u64(which)));
        uint64_t more = _blsr_u64(_blsr_u64(which));
        for (size_t i = found + 2; more; more = _blsr_u64(more)) {
            places[i++] = (uint32_t)(at + _tzcnt_u64(more));
        }
        found += (size_t)_mm_popcnt_u64(which);
    }
    return found;
}

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

TARGET static struct stk_mask_bytes pack_masks(uint8_t *lengths, uint8_t *whole, uint8_t *halves,
                                               const uint64_t *masks, size_t blocks)
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

TARGET static size_t unpack_masks(uint64_t *masks, const uint8_t *lengths, const uint8_t *whole,
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

TARGET static struct stk_mask_bytes measure_masks(const uint8_t *lengths, size_t blocks)
{
    struct stk_mask_bytes sum = {0, 0};
    for (size_t i = 0; i < blocks; i += 8) {
        uint64_t length = load_lengths(lengths, i, blocks - i < 8 ? blocks - i : 8);
        sum.whole += (size_t)_mm_popcnt_u64(whole_bytes(length));
        sum.halves += (size_t)_mm_popcnt_u64(half_bytes(length));
    }
    return sum;
}

/* ---- DC ---- */

/* Up to 32 differences: their magnitudes. */
INLINE __m512i load_dc(const int16_t *dc, size_t at, size_t blocks)
{
    __mmask32 there = (__mmask32)first_bits(at < blocks ? blocks - at : 0);
    return _mm512_maskz_loadu_epi16(there, dc + at);
}

INLINE uint64_t bit_of_both(__m512i a, __m512i b, int bit)
{
    const __m512i which = _mm512_set1_epi16((short)(1 << bit));
    return _mm512_test_epi16_mask(a, which) | (uint64_t)_mm512_test_epi16_mask(b, which) << 32;
}

/* Returns the rest of a magnitude as a value with that sign. */
INLINE __m256i rest_of(__m512i magnitude, __m512i dc)
{
    __m512i rest =
        _mm512_add_epi16(_mm512_srli_epi16(magnitude, STK_DC_PLANES), _mm512_set1_epi16(1));
    rest = _mm512_min_epu16(rest, _mm512_set1_epi16(STK_FORM_LARGEST));
    rest = _mm512_mask_sub_epi16(rest, _mm512_movepi16_mask(dc), _mm512_setzero_si512(), rest);
    return _mm512_cvtepi16_epi8(rest);
}

TARGET static void pack_dc(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += 64) {
        __m512i a = load_dc(dc, at, blocks), b = load_dc(dc, at + 32, blocks);
        __m512i abs_a = _mm512_abs_epi16(a), abs_b = _mm512_abs_epi16(b);
        for (int bit = 0; bit < STK_DC_PLANES; bit++) {
            store_bits(planes + (size_t)bit * plane, at, bit_of_both(abs_a, abs_b, bit),
                       blocks - at);
        }
        _mm256_storeu_si256((void *)(values + at), rest_of(abs_a, a));
        _mm256_storeu_si256((void *)(values + at + 32), rest_of(abs_b, b));
    }
}

/* 32 values, and of each of the planes their bits. */
INLINE __m512i join_dc(__m256i values, const uint32_t bits[STK_DC_PLANES])
{
    __m512i value = _mm512_cvtepi8_epi16(values);
    __m512i dc = _mm512_sub_epi16(_mm512_abs_epi16(value), _mm512_set1_epi16(1));
    dc = _mm512_slli_epi16(dc, STK_DC_PLANES);
    for (int bit = 0; bit < STK_DC_PLANES; bit++) {
        dc = _mm512_mask_add_epi16(dc, bits[bit], dc, _mm512_set1_epi16((short)(1 << bit)));
    }
    return _mm512_mask_sub_epi16(dc, _mm512_movepi16_mask(value), _mm512_setzero_si512(), dc);
}

TARGET static void unpack_dc(int16_t *dc, const uint8_t *planes, const int8_t *values,
                             size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += 32) {
        uint32_t bits[STK_DC_PLANES];
        for (size_t bit = 0; bit < STK_DC_PLANES; bit++) {
            memcpy(&bits[bit], planes + bit * plane + at / 8, sizeof *bits);
        }
        __m256i value = _mm256_loadu_si256((const void *)(values + at));
        _mm512_storeu_si512(dc + at, join_dc(value, bits));
    }
}

const struct stk_form_kernels stk_form_avx512 = {
    .gather = stk_gather_blocks,
    .pack_masks = pack_masks,
    .pack_signs = pack_signs,
    .pack_bits = pack_bits,
    .pack_dc = pack_dc,
    .unpack_masks = unpack_masks,
    .measure_masks = measure_masks,
    .count_ones = count_ones,
    .unpack_signs = unpack_signs,
    .unpack_bits = unpack_bits,
    .unpack_dc = unpack_dc,
    .find_largest = find_largest,
};
