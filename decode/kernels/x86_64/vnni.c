/*
 * The kernels for processors with AVX-512 and VNNI, but without VBMI. All vectors have 256 bits:
 * with products of 512 bits these processors lower their clock, for the program's own code, too.
 *
 * A weight is split in three signed bytes, and each part of four taps is one instruction: four
 * products of bytes, added to a sum of 32 bits.
 */
#include "decode/kernels/x86_64/avx2.h"

#undef TARGET
#undef INLINE
#define FEATURES "avx2,avx512f,avx512bw,avx512vl,avx512vnni"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

/* Four bytes of the parts worth 1 << 16, then 1 << 8, then 1. */
TARGET void stk_vnni_pack(struct stk_weights *weights, size_t count)
{
    const __m128i half = _mm_set1_epi32(0x8080);
    const __m128i sort = _mm_setr_epi8(2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12, -1, -1, -1, -1);
    for (size_t i = 0; i < count; i++) {
        /* A byte that becomes negative takes one more from the next. */
        __m128i words = _mm_add_epi32(_mm_load_si128((const void *)(weights + i)), half);
        words = _mm_shuffle_epi8(_mm_xor_si128(words, half), sort);
        _mm_store_si128((void *)(weights + i), words);
    }
}

/* So many groups are kept in registers. */
#define FEW 2

/* The sums of three parts, of any number of groups. */
struct part_sums {
    __m256i part[3];
};

/* Sums to which nothing was added: the half by which values are rounded. */
INLINE struct part_sums begin(void)
{
    const __m256i zero = _mm256_setzero_si256();
    return (struct part_sums){{zero, zero, _mm256_set1_epi32(1 << (STK_WEIGHT_BITS - 1))}};
}

/* Adds a group: four taps. */
INLINE void add(struct part_sums *sums, __m256i pixels, const int32_t *w)
{
    UNROLLED
    for (int i = 0; i < 3; i++) {
        sums->part[i] = _mm256_dpbusd_epi32(sums->part[i], pixels, _mm256_set1_epi32(w[i]));
    }
}

/* Values that still have to be cut to bytes. */
INLINE __m256i finish(struct part_sums sums)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(sums.part[0], 8), sums.part[1]);
    sum = _mm256_add_epi32(_mm256_slli_epi32(sum, 8), sums.part[2]);
    return _mm256_srai_epi32(sum, STK_WEIGHT_BITS);
}

/* Values of a few groups, in one sum: part by part, from the highest one on. */
INLINE __m256i weigh_few(const __m256i pixels[FEW], const struct stk_weights *weights,
                         size_t groups)
{
    __m256i sum = _mm256_set1_epi32(1 << (STK_WEIGHT_BITS - 1 - 16));
    UNROLLED
    for (int i = 0; i < 3; i++) {
        sum = i > 0 ? _mm256_slli_epi32(sum, 8) : sum;
        for (size_t g = 0; g < groups; g++) {
            sum = _mm256_dpbusd_epi32(sum, pixels[g], _mm256_set1_epi32(weights[g].word[i]));
        }
    }
    return _mm256_srai_epi32(sum, STK_WEIGHT_BITS);
}

/* ---- along a row ---- */

/* Four pixels of each of two rows, by channel: four bytes of red, four of green... */
INLINE __m256i gather(const uint8_t *const in[2], size_t at)
{
    const __m256i sort = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm256_shuffle_epi8(
        _mm256_loadu2_m128i((const void *)(in[1] + at), (const void *)(in[0] + at)), sort);
}

/* One output of two rows. */
INLINE __m256i weigh(const uint8_t *const in[2], const struct stk_taps *taps, size_t o,
                     size_t groups)
{
    const struct stk_weights *weights = taps->weights + o * groups;
    size_t at = 4 * (size_t)taps->first[o];
    if (groups <= FEW) {
        const __m256i pixels[FEW] = {gather(in, at),
                                     groups > 1 ? gather(in, at + 16) : gather(in, at)};
        return weigh_few(pixels, weights, groups);
    }
    struct part_sums sums = begin();
    for (size_t g = 0; g < groups; g++, at += 16) {
        add(&sums, gather(in, at), weights[g].word);
    }
    return finish(sums);
}

INLINE void horizontal_rows(uint8_t *const *out, const uint8_t *const *in,
                            const struct stk_taps *taps, size_t groups)
{
    for (size_t o = 0; o < taps->outputs; o += STK_ROWS_TOGETHER) {
        UNROLLED
        for (size_t i = 0; i < STK_ROWS_TOGETHER; i += 2) {
            __m256i low = _mm256_packs_epi32(weigh(in + i, taps, o, groups),
                                             weigh(in + i, taps, o + 1, groups));
            __m256i high = _mm256_packs_epi32(weigh(in + i, taps, o + 2, groups),
                                              weigh(in + i, taps, o + 3, groups));
            _mm256_storeu2_m128i((void *)(out[i + 1] + 4 * o), (void *)(out[i] + 4 * o),
                                 _mm256_packus_epi16(low, high));
        }
    }
}

/* With the number of groups known to the compiler where that pays. */
TARGET void stk_vnni_horizontal(uint8_t *const *out, const uint8_t *const *in,
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

/* ---- down a column ---- */

/* 32 bytes of each of four rows: the four of each place side by side. */
INLINE void interleave(__m256i out[4], const uint8_t *const *row, size_t at)
{
    __m256i r0 = _mm256_loadu_si256((const void *)(row[0] + at));
    __m256i r1 = _mm256_loadu_si256((const void *)(row[1] + at));
    __m256i r2 = _mm256_loadu_si256((const void *)(row[2] + at));
    __m256i r3 = _mm256_loadu_si256((const void *)(row[3] + at));
    __m256i a = _mm256_unpacklo_epi8(r0, r1), b = _mm256_unpackhi_epi8(r0, r1);
    __m256i c = _mm256_unpacklo_epi8(r2, r3), d = _mm256_unpackhi_epi8(r2, r3);
    out[0] = _mm256_unpacklo_epi16(a, c);
    out[1] = _mm256_unpackhi_epi16(a, c);
    out[2] = _mm256_unpacklo_epi16(b, d);
    out[3] = _mm256_unpackhi_epi16(b, d);
}

INLINE void weigh_one(__m256i values[4], const uint8_t *const *rows,
                      const struct stk_weights *weights, size_t at)
{
    __m256i pixels[4];
    interleave(pixels, rows, at);
    UNROLLED
    for (int i = 0; i < 4; i++) {
        values[i] = weigh_few(&pixels[i], weights, 1);
    }
}

INLINE void weigh_many(__m256i values[4], const uint8_t *const *rows,
                       const struct stk_weights *weights, uint32_t groups, size_t at)
{
    struct part_sums sums[4] = {begin(), begin(), begin(), begin()};
    for (uint32_t g = 0; g < groups; g++) {
        __m256i pixels[4];
        interleave(pixels, rows + 4 * (size_t)g, at);
        UNROLLED
        for (int i = 0; i < 4; i++) {
            add(&sums[i], pixels[i], weights[g].word);
        }
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        values[i] = finish(sums[i]);
    }
}

INLINE void weigh_rows(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                       uint32_t groups, size_t pixels)
{
    for (size_t at = 0; at < 4 * pixels; at += 32) {
        __m256i values[4];
        if (groups == 1) {
            weigh_one(values, rows, weights, at);
        } else {
            weigh_many(values, rows, weights, groups, at);
        }
        __m256i a = _mm256_packs_epi32(values[0], values[1]);
        __m256i b = _mm256_packs_epi32(values[2], values[3]);
        _mm256_storeu_si256((void *)(out + at), _mm256_packus_epi16(a, b));
    }
}

TARGET void stk_vnni_vertical(uint8_t *out, const uint8_t *const *rows,
                              const struct stk_weights *weights, uint32_t groups, size_t pixels)
{
    if (groups == 1) {
        weigh_rows(out, rows, weights, 1, pixels);
    } else {
        weigh_rows(out, rows, weights, groups, pixels);
    }
}
