/*
 * The kernels in AVX-512 with VNNI and VBMI. A weight is split in three signed bytes, and each part
 * of four taps is one instruction: four products of bytes, added to a sum of 32 bits.
 */
#include "decode/kernels/ranks.h"
#include "decode/kernels/x86_64/avx512.h"

#include <string.h>

/* Four bytes of the parts worth 1 << 16, then 1 << 8, then 1. */
TARGET static void pack(struct stk_weights *weights, size_t count)
{
    const __m512i half = _mm512_set1_epi32(0x8080);
    const __m512i sort = _mm512_broadcast_i32x4(
        _mm_setr_epi8(2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12, -1, -1, -1, -1));
    for (size_t i = 0; i < count; i += 4) {
        /* A byte that becomes negative takes one more from the next. */
        __m512i words = _mm512_add_epi32(_mm512_load_si512(weights + i), half);
        words = _mm512_shuffle_epi8(_mm512_xor_si512(words, half), sort);
        _mm512_store_si512(weights + i, words);
    }
}

#define AS_IT_IS(nothing, place) (place)
static const uint8_t places[64]
    __attribute__((aligned(64))) = {STK_PLACES_UPPER(AS_IT_IS, ), STK_PLACES_LOWER(AS_IT_IS, )};

struct wide_sums {
    __m512i high, middle, low;
};

INLINE void add(struct wide_sums *sums, __m512i pixels, __m512i high, __m512i middle, __m512i low)
{
    sums->high = _mm512_dpbusd_epi32(sums->high, pixels, high);
    sums->middle = _mm512_dpbusd_epi32(sums->middle, pixels, middle);
    sums->low = _mm512_dpbusd_epi32(sums->low, pixels, low);
}

/* Sums to which nothing was added: the half by which values are rounded. */
INLINE struct wide_sums begin(void)
{
    const __m512i zero = _mm512_setzero_si512();
    return (struct wide_sums){zero, zero, _mm512_set1_epi32(1 << (STK_WEIGHT_BITS - 1))};
}

/* Values that still have to be cut to bytes. */
INLINE __m512i finish(const struct wide_sums *sums)
{
    __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(sums->high, 8), sums->middle);
    sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), sums->low);
    return _mm512_srai_epi32(sum, STK_WEIGHT_BITS);
}

/* Four pixels of each of four rows, by channel: four bytes of red, four of green... */
INLINE __m512i gather(const uint8_t *const *in, size_t at)
{
    const __m512i sort =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m512i pixels = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(in[0] + at)));
    pixels = _mm512_inserti32x4(pixels, _mm_loadu_si128((const void *)(in[1] + at)), 1);
    pixels = _mm512_inserti32x4(pixels, _mm_loadu_si128((const void *)(in[2] + at)), 2);
    pixels = _mm512_inserti32x4(pixels, _mm_loadu_si128((const void *)(in[3] + at)), 3);
    return _mm512_shuffle_epi8(pixels, sort);
}

/* One output of four rows. */
INLINE __m512i weigh(const uint8_t *const *in, const struct stk_taps *taps, size_t o, size_t groups)
{
    struct wide_sums sums = begin();
    const struct stk_weights *weights = taps->weights + o * groups;
    size_t at = 4 * (size_t)taps->first[o];
    for (size_t g = 0; g < groups; g++, at += 16) {
        const int32_t *w = weights[g].word;
        add(&sums, gather(in, at), _mm512_set1_epi32(w[0]), _mm512_set1_epi32(w[1]),
            _mm512_set1_epi32(w[2]));
    }
    return finish(&sums);
}

INLINE void horizontal_rows(uint8_t *const *out, const uint8_t *const *in,
                            const struct stk_taps *taps, size_t groups)
{
    for (size_t o = 0; o < taps->outputs; o += STK_ROWS_TOGETHER) {
        __m512i a = _mm512_packs_epi32(weigh(in, taps, o, groups), weigh(in, taps, o + 1, groups));
        __m512i b =
            _mm512_packs_epi32(weigh(in, taps, o + 2, groups), weigh(in, taps, o + 3, groups));
        __m512i pixels = _mm512_packus_epi16(a, b);
        _mm_storeu_si128((void *)(out[0] + 4 * o), _mm512_castsi512_si128(pixels));
        _mm_storeu_si128((void *)(out[1] + 4 * o), _mm512_extracti32x4_epi32(pixels, 1));
        _mm_storeu_si128((void *)(out[2] + 4 * o), _mm512_extracti32x4_epi32(pixels, 2));
        _mm_storeu_si128((void *)(out[3] + 4 * o), _mm512_extracti32x4_epi32(pixels, 3));
    }
}

/* With the number of groups known to the compiler where that pays. */
TARGET static void horizontal(uint8_t *const *out, const uint8_t *const *in,
                              const struct stk_taps *taps)
{
    if (taps->groups == 1) {
        horizontal_rows(out, in, taps, 1);
    } else if (taps->groups == 2) {
        horizontal_rows(out, in, taps, 2);
    } else {
        horizontal_rows(out, in, taps, taps->groups);
    }
}

/* Adds 64 bytes of each of four rows. */
INLINE void add_rows(struct wide_sums sums[4], const uint8_t *const *row, size_t at,
                     const int32_t *w)
{
    __m512i r0 = _mm512_loadu_si512(row[0] + at), r1 = _mm512_loadu_si512(row[1] + at);
    __m512i r2 = _mm512_loadu_si512(row[2] + at), r3 = _mm512_loadu_si512(row[3] + at);
    __m512i a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpackhi_epi8(r0, r1);
    __m512i c = _mm512_unpacklo_epi8(r2, r3), d = _mm512_unpackhi_epi8(r2, r3);
    __m512i high = _mm512_set1_epi32(w[0]), middle = _mm512_set1_epi32(w[1]);
    __m512i low = _mm512_set1_epi32(w[2]);
    add(&sums[0], _mm512_unpacklo_epi16(a, c), high, middle, low);
    add(&sums[1], _mm512_unpackhi_epi16(a, c), high, middle, low);
    add(&sums[2], _mm512_unpacklo_epi16(b, d), high, middle, low);
    add(&sums[3], _mm512_unpackhi_epi16(b, d), high, middle, low);
}

TARGET static void vertical(uint8_t *out, const uint8_t *const *rows,
                            const struct stk_weights *weights, uint32_t groups, size_t pixels)
{
    for (size_t at = 0; at < 4 * pixels; at += 64) {
        struct wide_sums sums[4] = {begin(), begin(), begin(), begin()};
        for (uint32_t g = 0; g < groups; g++) {
            add_rows(sums, rows + 4 * (size_t)g, at, weights[g].word);
        }
        __m512i a = _mm512_packs_epi32(finish(&sums[0]), finish(&sums[1]));
        __m512i b = _mm512_packs_epi32(finish(&sums[2]), finish(&sums[3]));
        _mm512_storeu_si512(out + at, _mm512_packus_epi16(a, b));
    }
}

/* The first `count` bits, of at most 64. */
INLINE __mmask64 first_bits(size_t count)
{
    return count >= 64 ? ~0ull : (1ull << count) - 1;
}

INLINE size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

TARGET static void rgb(uint8_t *out, const uint8_t *line, size_t pixels)
{
    const __m512i drop = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m512i close = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    for (size_t p = 0; p < pixels; p += 16) {
        size_t count = at_most(pixels - p, 16);
        __m512i four = _mm512_maskz_loadu_epi8(first_bits(4 * count), line + 4 * p);
        __m512i three = _mm512_permutexvar_epi32(close, _mm512_shuffle_epi8(four, drop));
        _mm512_mask_storeu_epi8(out + 3 * p, first_bits(3 * count), three);
    }
}

/* 64 pixels, loaded as far as there are any. */
struct chunk {
    __m512i part[4];
};

INLINE struct chunk load_chunk(const uint8_t *line, size_t count)
{
    struct chunk chunk;
    for (size_t i = 0; i < 4; i++) {
        size_t here = count > 16 * i ? at_most(count - 16 * i, 16) : 0;
        chunk.part[i] = _mm512_maskz_loadu_epi8(first_bits(4 * here), line + 64 * i);
    }
    return chunk;
}

/* One channel of a chunk, as 64 bytes. */
INLINE __m512i channel_of(const struct chunk *chunk, int channel)
{
    const __m512i step = _mm512_set1_epi32(0x0c080400);
    const __m512i row =
        _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7), 4);
    __m512i index = _mm512_add_epi8(
        step, _mm512_shuffle_epi8(row, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                           0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12))));
    index = _mm512_add_epi8(index, _mm512_set1_epi8((char)channel));
    __m512i a = _mm512_permutex2var_epi8(chunk->part[0], index, chunk->part[1]);
    __m512i b = _mm512_permutex2var_epi8(chunk->part[2], index, chunk->part[3]);
    return _mm512_inserti64x4(a, _mm512_castsi512_si256(b), 1);
}

TARGET static void planes(uint8_t *const out[3], const uint8_t *line, size_t pixels)
{
    for (size_t p = 0; p < pixels; p += 64) {
        size_t count = at_most(pixels - p, 64);
        struct chunk chunk = load_chunk(line + 4 * p, count);
        for (int c = 0; c < 3; c++) {
            _mm512_mask_storeu_epi8(out[c] + p, first_bits(count), channel_of(&chunk, c));
        }
    }
}

/* Stores up to 16 floats: a whole line of the cache past it, if it is to be. */
INLINE void store_floats(float *out, __m512 floats, size_t count, bool streamed)
{
    if (streamed && count == 16 && (uintptr_t)out % 64 == 0) {
        _mm512_stream_ps(out, floats);
    } else {
        _mm512_mask_storeu_ps(out, (__mmask16)first_bits(count), floats);
    }
}

/* Sixteen bytes in words of 32 bits to floats: see struct stk_scaling. */
INLINE __m512 scale(__m512i bytes, const struct stk_tables *tables, int channel)
{
    const struct stk_scaling *scaling = &tables->scaling[channel];
    const __m512 rate = _mm512_set1_ps(tables->byte_rate), rest = _mm512_set1_ps(tables->byte_rest);
    __m512 x = _mm512_cvtepi32_ps(bytes);
    __m512 y = _mm512_fmadd_ps(x, rate, _mm512_mul_ps(x, rest));
    y = _mm512_sub_ps(y, _mm512_set1_ps(scaling->mean));
    return _mm512_fmadd_ps(y, _mm512_set1_ps(scaling->rate),
                           _mm512_mul_ps(y, _mm512_set1_ps(scaling->rest)));
}

INLINE void three_planes(float *const out[3], const uint8_t *line, size_t pixels,
                         const struct stk_tables *tables, bool streamed)
{
    const __m512i byte = _mm512_set1_epi32(255);
    for (size_t p = 0; p < pixels; p += 16) {
        size_t count = at_most(pixels - p, 16);
        __m512i four = _mm512_loadu_si512(line + 4 * p);
        UNROLLED
        for (int c = 0; c < 3; c++) {
            __m512i bytes = _mm512_and_si512(_mm512_srli_epi32(four, 8 * (unsigned)c), byte);
            __m512 floats = tables->is_scaled
                                ? scale(bytes, tables, c)
                                : _mm512_i32gather_ps(bytes, tables->floats + 256 * c, 4);
            store_floats(out[c] + p, floats, count, streamed);
        }
    }
}

TARGET static void float_planes(float *const out[3], const uint8_t *line, size_t pixels,
                                const struct stk_tables *tables)
{
    three_planes(out, line, pixels, tables, false);
}

TARGET static void streamed_planes(float *const out[3], const uint8_t *line, size_t pixels,
                                   const struct stk_tables *tables)
{
    three_planes(out, line, pixels, tables, true);
}

/* The values to their zigzag places, and from there to their own. */
TARGET static unsigned expand(int16_t block[64], uint64_t mask, const int8_t *values)
{
    const __m512i shuffle = _mm512_load_si512(places);
    __m512i bytes = _mm512_maskz_expand_epi8(mask, _mm512_loadu_si512(values));
    bytes = _mm512_permutexvar_epi8(shuffle, bytes);
    _mm512_storeu_si512(block, _mm512_cvtepi8_epi16(_mm512_castsi512_si256(bytes)));
    _mm512_storeu_si512(block + 32, _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(bytes, 1)));
    return (unsigned)_mm_popcnt_u64(mask);
}

TARGET static const uint8_t *skip(const uint8_t *at, const uint8_t *end)
{
    while (end - at > 64) {
        __m512i next = _mm512_loadu_si512(at + 1);
        __mmask64 marks = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), _mm512_set1_epi8(-1));
        marks = _mm512_mask_test_epi8_mask(marks, next, next);
        if (marks != 0) {
            return at + __builtin_ctzll(marks);
        }
        at += 64;
    }
    return at;
}

const struct stk_kernels stk_kernels_avx512 = {
    .name = "avx512",
    .pack = pack,
    .horizontal = horizontal,
    .vertical = vertical,
    .float_columns = stk_avx2_float_columns,
    .float_rows = stk_avx2_float_rows,
    .widen = stk_avx2_widen,
    .rgb = rgb,
    .planes = planes,
    .float_rgb = stk_avx2_float_rgb,
    .float_planes = float_planes,
    .streamed_planes = streamed_planes,
    .lockstep = stk_avx512_lockstep,
    .wide_tables = 1,
    .expand = expand,
    .pass = stk_bmi2_pass,
    .skip = skip,
    .form = &stk_form_avx512,
    .take = stk_bmi2_take,
    .idct = stk_avx512_idct,
    .colour = stk_avx512_colour,
};
