/*
 * The kernels in AVX2. A weight is split in a high part and a low one of 8 bits. Each part fits a
 * multiplication of 16 bits that adds pairs, and (high << 8) + low is exactly the sum of 32 bits.
 */
#include "decode/kernels/x86_64/avx2.h"

#include <stdbool.h>
#include <string.h>

/* Into pairs of 16 bits: high parts of 0 and 1, of 2 and 3; then the low ones. */
TARGET static void pack(struct stk_weights *weights, size_t count)
{
    const __m256i low = _mm256_set1_epi32(0xff);
    for (size_t i = 0; i < count; i += 2) {
        __m256i words = _mm256_load_si256((const void *)(weights + i));
        words = _mm256_packs_epi32(_mm256_srai_epi32(words, 8), _mm256_and_si256(words, low));
        _mm256_store_si256((void *)(weights + i), words);
    }
}

INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256(from);
}

struct sums {
    __m256i high, low;
};

/* Sums to which nothing was added: the half by which values are rounded. */
INLINE struct sums begin(void)
{
    return (struct sums){_mm256_setzero_si256(), _mm256_set1_epi32(1 << (STK_WEIGHT_BITS - 1))};
}

/* high and low sums -> values that still have to be cut to bytes */
INLINE __m256i finish(struct sums sums)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(sums.high, 8), sums.low);
    return _mm256_srai_epi32(sum, STK_WEIGHT_BITS);
}

/* Adds two taps: `pixels` by channel, in pairs of 16 bits. */
INLINE void add(struct sums *sums, __m256i pixels, __m256i high, __m256i low)
{
    sums->high = _mm256_add_epi32(sums->high, _mm256_madd_epi16(pixels, high));
    sums->low = _mm256_add_epi32(sums->low, _mm256_madd_epi16(pixels, low));
}

/* Adds a group of an output to two rows, one in each half. */
INLINE void add_group(struct sums *sums, const uint8_t *in0, const uint8_t *in1, const int32_t *w,
                      bool is_short)
{
    const __m256i first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
    const __m256i second = _mm256_or_si256(first, _mm256_set1_epi16(8));
    __m256i pixels = _mm256_loadu2_m128i((const void *)in1, (const void *)in0);
    add(sums, _mm256_shuffle_epi8(pixels, first), _mm256_set1_epi32(w[0]), _mm256_set1_epi32(w[2]));
    if (!is_short) {
        add(sums, _mm256_shuffle_epi8(pixels, second), _mm256_set1_epi32(w[1]),
            _mm256_set1_epi32(w[3]));
    }
}

/* One output of four rows. */
INLINE void weigh(__m256i values[2], const uint8_t *const *in, const struct stk_taps *taps,
                  size_t o, size_t groups, bool short_end)
{
    struct sums sums[2] = {begin(), begin()};
    const struct stk_weights *weights = taps->weights + o * groups;
    size_t at = 4 * (size_t)taps->first[o];
    for (size_t g = 0; g < groups; g++, at += 16) {
        bool is_short = short_end && g + 1 == groups;
        add_group(&sums[0], in[0] + at, in[1] + at, weights[g].word, is_short);
        add_group(&sums[1], in[2] + at, in[3] + at, weights[g].word, is_short);
    }
    values[0] = finish(sums[0]);
    values[1] = finish(sums[1]);
}

/* Four outputs of two rows. */
INLINE void store_two(uint8_t *out0, uint8_t *out1, const __m256i values[4][2], int rows)
{
    __m256i low = _mm256_packs_epi32(values[0][rows], values[1][rows]);
    __m256i high = _mm256_packs_epi32(values[2][rows], values[3][rows]);
    _mm256_storeu2_m128i((void *)out1, (void *)out0, _mm256_packus_epi16(low, high));
}

INLINE void horizontal_rows(uint8_t *const *out, const uint8_t *const *in,
                            const struct stk_taps *taps, size_t groups, bool short_end)
{
    for (size_t o = 0; o < taps->outputs; o += STK_ROWS_TOGETHER) {
        __m256i values[STK_ROWS_TOGETHER][2];
        UNROLLED
        for (size_t i = 0; i < STK_ROWS_TOGETHER; i++) {
            weigh(values[i], in, taps, o + i, groups, short_end);
        }
        store_two(out[0] + 4 * o, out[1] + 4 * o, values, 0);
        store_two(out[2] + 4 * o, out[3] + 4 * o, values, 1);
    }
}

TARGET static void horizontal(uint8_t *const *out, const uint8_t *const *in,
                              const struct stk_taps *taps)
{
    stk_avx2_by_groups(horizontal_rows, out, in, taps);
}

/* Adds two rows, interleaved to 16 bits. */
INLINE void add_pair(struct sums sums[4], __m256i row0, __m256i row1, int32_t high, int32_t low)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i a = _mm256_unpacklo_epi8(row0, row1), b = _mm256_unpackhi_epi8(row0, row1);
    const __m256i parts[4] = {_mm256_unpacklo_epi8(a, zero), _mm256_unpackhi_epi8(a, zero),
                              _mm256_unpacklo_epi8(b, zero), _mm256_unpackhi_epi8(b, zero)};
    __m256i h = _mm256_set1_epi32(high), l = _mm256_set1_epi32(low);
    UNROLLED
    for (int i = 0; i < 4; i++) {
        add(&sums[i], parts[i], h, l);
    }
}

TARGET static void vertical(uint8_t *out, const uint8_t *const *rows,
                            const struct stk_weights *weights, uint32_t groups, size_t pixels)
{
    const int32_t *last = weights[groups - 1].word;
    bool short_end = (last[1] | last[3]) == 0;
    for (size_t at = 0; at < 4 * pixels; at += 32) {
        struct sums sums[4] = {begin(), begin(), begin(), begin()};
        for (uint32_t g = 0; g < groups; g++) {
            const uint8_t *const *row = rows + 4 * (size_t)g;
            const int32_t *w = weights[g].word;
            add_pair(sums, load(row[0] + at), load(row[1] + at), w[0], w[2]);
            if (!short_end || g + 1 < groups) {
                add_pair(sums, load(row[2] + at), load(row[3] + at), w[1], w[3]);
            }
        }
        __m256i a = _mm256_packs_epi32(finish(sums[0]), finish(sums[1]));
        __m256i b = _mm256_packs_epi32(finish(sums[2]), finish(sums[3]));
        _mm256_storeu_si256((void *)(out + at), _mm256_packus_epi16(a, b));
    }
}

/* Eight pixels a step; 24 bytes of the 28 that are read count. */
TARGET void stk_avx2_widen(uint8_t *out, const uint8_t *in, size_t pixels)
{
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    const __m256i fourth = _mm256_set1_epi32((int)0xff000000);
    size_t p = 0;
    for (; p + 10 <= pixels; p += 8) {
        __m256i wide =
            _mm256_loadu2_m128i((const void *)(in + 3 * p + 12), (const void *)(in + 3 * p));
        wide = _mm256_or_si256(_mm256_shuffle_epi8(wide, spread), fourth);
        _mm256_storeu_si256((void *)(out + 4 * p), wide);
    }
    stk_plain_widen(out + 4 * p, in + 3 * p, pixels - p);
}

/* The three bytes of each of eight pixels, one behind the other. */
INLINE __m256i close_up(const uint8_t *line)
{
    const __m256i drop = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i close = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(load(line), drop), close);
}

/* Eight pixels a step; 24 bytes of the 32 that are written count. */
TARGET static void rgb(uint8_t *out, const uint8_t *line, size_t pixels)
{
    size_t p = 0;
    for (; p + 11 <= pixels; p += 8) {
        _mm256_storeu_si256((void *)(out + 3 * p), close_up(line + 4 * p));
    }
    stk_plain_rgb(out + 3 * p, line + 4 * p, pixels - p);
}

TARGET static void planes(uint8_t *const out[3], const uint8_t *line, size_t pixels)
{
    const __m256i sort = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i join = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t p = 0;
    for (; p + 8 <= pixels; p += 8) {
        __m256i sorted = _mm256_shuffle_epi8(load(line + 4 * p), sort);
        sorted = _mm256_permutevar8x32_epi32(sorted, join);
        __m128i low = _mm256_castsi256_si128(sorted);
        _mm_storel_epi64((void *)(out[0] + p), low);
        _mm_storel_epi64((void *)(out[1] + p), _mm_unpackhi_epi64(low, low));
        _mm_storel_epi64((void *)(out[2] + p), _mm256_extracti128_si256(sorted, 1));
    }
    uint8_t *const rest[3] = {out[0] + p, out[1] + p, out[2] + p};
    stk_plain_planes(rest, line + 4 * p, pixels - p);
}

/* ---- floats ---- */

/* The numbers of a channel's scaling. */
struct factors {
    __m256 byte_rate, mean, rate, rest;
};

INLINE struct factors load_factors(const struct stk_tables *tables, int channel)
{
    const struct stk_scaling *scaling = &tables->scaling[channel];
    return (struct factors){_mm256_set1_ps(tables->byte_rate), _mm256_set1_ps(scaling->mean),
                            _mm256_set1_ps(scaling->rate), _mm256_set1_ps(scaling->rest)};
}

/* How floats are computed: see struct stk_tables. */
struct way {
    bool is_share;
    float byte_rest;
};

/* Eight bytes in words of 32 bits to floats: see struct stk_scaling. */
INLINE __m256 scale(__m256i bytes, const struct factors *factors, struct way way)
{
    __m256 x = _mm256_cvtepi32_ps(bytes), y;
    if (way.byte_rest == 0) {
        y = _mm256_mul_ps(x, factors->byte_rate);
    } else {
        y = _mm256_mul_ps(x, _mm256_set1_ps(way.byte_rest));
        y = _mm256_fmadd_ps(x, factors->byte_rate, y);
    }
    if (way.is_share) {
        return y;
    }
    y = _mm256_sub_ps(y, factors->mean);
    return _mm256_fmadd_ps(y, factors->rate, _mm256_mul_ps(y, factors->rest));
}

/* Calls `loop`, an inline function, with each way known to the compiler. */
#define EACH_WAY(loop, tables, ...)                                                                \
    do {                                                                                           \
        if ((tables)->is_share && (tables)->byte_rest == 0) {                                      \
            loop(__VA_ARGS__, (struct way){true, 0});                                              \
        } else if ((tables)->is_share) {                                                           \
            loop(__VA_ARGS__, (struct way){true, STK_BYTE_REST});                                  \
        } else if ((tables)->byte_rest == 0) {                                                     \
            loop(__VA_ARGS__, (struct way){false, 0});                                             \
        } else {                                                                                   \
            loop(__VA_ARGS__, (struct way){false, STK_BYTE_REST});                                 \
        }                                                                                          \
    } while (0)

/* Past the caches, if they are to be and can be. */
INLINE void store_floats(float *out, __m256 floats, bool streamed)
{
    if (streamed && (uintptr_t)out % 32 == 0) {
        _mm256_stream_ps(out, floats);
    } else {
        _mm256_storeu_ps(out, floats);
    }
}

/* The channels of eight pixels. */
INLINE void split(__m256i channels[3], const uint8_t *line)
{
    const __m256i byte = _mm256_set1_epi32(255);
    __m256i four = load(line);
    channels[0] = _mm256_and_si256(four, byte);
    channels[1] = _mm256_and_si256(_mm256_srli_epi32(four, 8), byte);
    channels[2] = _mm256_and_si256(_mm256_srli_epi32(four, 16), byte);
}

INLINE void scaled_planes(float *const out[3], const uint8_t *line, size_t pixels,
                          const struct stk_tables *tables, bool streamed, struct way way)
{
    const struct factors factors[3] = {load_factors(tables, 0), load_factors(tables, 1),
                                       load_factors(tables, 2)};
    __m256i channels[3];
    for (size_t p = 0; p < pixels; p += 8) {
        split(channels, line + 4 * p);
        UNROLLED
        for (int c = 0; c < 3; c++) {
            store_floats(out[c] + p, scale(channels[c], &factors[c], way), streamed);
        }
    }
}

INLINE void three_planes(float *const out[3], const uint8_t *line, size_t pixels,
                         const struct stk_tables *tables, bool streamed)
{
    size_t end = tables->is_scaled ? pixels & ~(size_t)7 : 0;
    float *const to[3] = {out[0], out[1], out[2]};
    EACH_WAY(scaled_planes, tables, to, line, end, tables, streamed);
    float *const rest[3] = {to[0] + end, to[1] + end, to[2] + end};
    stk_plain_float_planes(rest, line + 4 * end, pixels - end, tables);
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

/* Eight pixels a step: 24 floats, which begin with red, blue and green. */
INLINE void scaled_rgb(float *out, const uint8_t *line, size_t pixels,
                       const struct stk_tables *tables, struct way way)
{
    float mean[10], rate[10], rest[10];
    for (int i = 0; i < 10; i++) {
        const struct stk_scaling *scaling = &tables->scaling[i % 3];
        mean[i] = scaling->mean, rate[i] = scaling->rate, rest[i] = scaling->rest;
    }
    struct factors factors[3];
    UNROLLED
    for (int i = 0; i < 3; i++) {
        int first = 2 * i % 3;
        factors[i] =
            (struct factors){_mm256_set1_ps(tables->byte_rate), _mm256_loadu_ps(mean + first),
                             _mm256_loadu_ps(rate + first), _mm256_loadu_ps(rest + first)};
    }
    for (size_t p = 0; p < pixels; p += 8, out += 24) {
        __m256i bytes = close_up(line + 4 * p);
        __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
        const __m128i eight[3] = {low, _mm_unpackhi_epi64(low, low), high};
        UNROLLED
        for (int i = 0; i < 3; i++) {
            __m256i words = _mm256_cvtepu8_epi32(eight[i]);
            _mm256_storeu_ps(out + 8 * i, scale(words, &factors[i], way));
        }
    }
}

TARGET void stk_avx2_float_rgb(float *out, const uint8_t *line, size_t pixels,
                               const struct stk_tables *tables)
{
    size_t end = tables->is_scaled ? pixels & ~(size_t)7 : 0;
    EACH_WAY(scaled_rgb, tables, out, line, end, tables);
    stk_plain_float_rgb(out + 3 * end, line + 4 * end, pixels - end, tables);
}

/* ---- coefficients ---- */

#define FROM_PART(part, place) ((place) / 16 == (part) ? (char)((place) % 16) : (char)STK_NO_RANK)
#define SHUFFLE(places, part)  _mm256_setr_epi8(places(FROM_PART, part))

/* Spreads the values of sixteen places of a mask, in both halves; `values` moves on behind them. */
INLINE __m256i spread(unsigned mask, const int8_t **values)
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
struct block_bytes {
    __m256i upper, lower;
};

INLINE struct block_bytes bytes_of(uint64_t mask, const int8_t *at)
{
    __m256i a = spread(mask & 0xffff, &at), b = spread(mask >> 16 & 0xffff, &at);
    __m256i c = spread(mask >> 32 & 0xffff, &at);
    __m256i d = spread((unsigned)(mask >> 48), &at);
    __m256i upper = _mm256_or_si256(_mm256_shuffle_epi8(a, SHUFFLE(STK_PLACES_UPPER, 0)),
                                    _mm256_shuffle_epi8(b, SHUFFLE(STK_PLACES_UPPER, 1)));
    __m256i lower = _mm256_or_si256(_mm256_shuffle_epi8(a, SHUFFLE(STK_PLACES_LOWER, 0)),
                                    _mm256_shuffle_epi8(b, SHUFFLE(STK_PLACES_LOWER, 1)));
    upper = _mm256_or_si256(upper, _mm256_shuffle_epi8(c, SHUFFLE(STK_PLACES_UPPER, 2)));
    lower = _mm256_or_si256(lower, _mm256_shuffle_epi8(c, SHUFFLE(STK_PLACES_LOWER, 2)));
    upper = _mm256_or_si256(upper, _mm256_shuffle_epi8(d, SHUFFLE(STK_PLACES_UPPER, 3)));
    lower = _mm256_or_si256(lower, _mm256_shuffle_epi8(d, SHUFFLE(STK_PLACES_LOWER, 3)));
    return (struct block_bytes){upper, lower};
}

INLINE void put_half(int16_t *out, __m256i bytes)
{
    _mm256_storeu_si256((void *)out, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(bytes)));
    _mm256_storeu_si256((void *)(out + 16),
                        _mm256_cvtepi8_epi16(_mm256_extracti128_si256(bytes, 1)));
}

TARGET static unsigned expand(int16_t block[64], uint64_t mask, const int8_t *values)
{
    struct block_bytes bytes = bytes_of(mask, values);
    put_half(block, bytes.upper);
    put_half(block + 32, bytes.lower);
    return (unsigned)_mm_popcnt_u64(mask);
}

TARGET static const uint8_t *skip(const uint8_t *at, const uint8_t *end)
{
    while (end - at > 32) {
        __m256i ends = _mm256_cmpeq_epi8(load(at + 1), _mm256_setzero_si256());
        __m256i marks = _mm256_cmpeq_epi8(load(at), _mm256_set1_epi8(-1));
        unsigned found = (unsigned)_mm256_movemask_epi8(_mm256_andnot_si256(ends, marks));
        if (found != 0) {
            return at + __builtin_ctz(found);
        }
        at += 32;
    }
    return at;
}

/* Entries that the tables for AVX2 and VNNI share. */
#define SHARED                                                                                     \
    .lockstep = stk_bmi2_lockstep, .expand = expand, .pass = stk_bmi2_pass, .skip = skip,          \
    .take = stk_bmi2_take, .idct = stk_avx2_idct, .colour = stk_avx2_colour,                       \
    .form = &stk_form_avx2, .float_columns = stk_avx2_float_columns,                               \
    .float_rows = stk_avx2_float_rows, .widen = stk_avx2_widen, .rgb = rgb, .planes = planes,      \
    .float_rgb = stk_avx2_float_rgb, .float_planes = float_planes,                                 \
    .streamed_planes = streamed_planes

const struct stk_kernels stk_kernels_avx2 = {
    SHARED,
    .name = "avx2",
    .pack = pack,
    .horizontal = horizontal,
    .vertical = vertical,
    .pack_short = stk_avx2_pack_short,
    .horizontal_short = stk_avx2_horizontal_short,
    .horizontal_three = stk_avx2_horizontal_three,
    .vertical_short = stk_avx2_vertical_short,
};

const struct stk_kernels stk_kernels_vnni = {
    SHARED,
    .name = "vnni",
    .pack = stk_vnni_pack,
    .horizontal = stk_vnni_horizontal,
    .vertical = stk_vnni_vertical,
};
