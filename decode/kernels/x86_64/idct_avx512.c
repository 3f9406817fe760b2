/*
 * The inverse DCT of four blocks at once, one in each 128 bits of a register, with VNNI: in one
 * instruction two products and what they are added to.
 */
#include "decode/kernels/x86_64/avx512.h"

typedef __m512i vector;
#define V(name) _mm512_##name

INLINE vector multiply_add(vector sums, vector pairs, vector factors)
{
    return _mm512_dpwssd_epi32(sums, pairs, factors);
}

INLINE void add_and_subtract(vector out[2], vector sums, vector pairs, vector factors,
                             vector opposite)
{
    out[0] = multiply_add(sums, pairs, factors);
    out[1] = multiply_add(sums, pairs, opposite);
}

#include "decode/kernels/x86_64/islow.h"

/*
 * Where the bytes of two rows stand in zigzag order, one row in the even and one in the odd ones;
 * for a look-up in the 128 bytes of two blocks.
 */
#define TWO(block, row, column)                                                                    \
    64 * (block) + PLACE(row, column), 64 * (block) + PLACE((row) + 1, column)
#define LANE(block, row)                                                                           \
    TWO(block, row, 0), TWO(block, row, 1), TWO(block, row, 2), TWO(block, row, 3),                \
        TWO(block, row, 4), TWO(block, row, 5), TWO(block, row, 6), TWO(block, row, 7)
static const uint8_t upper[64]
    __attribute__((aligned(64))) = {LANE(0, 0), LANE(1, 0), LANE(0, 2), LANE(1, 2)};
static const uint8_t lower[64]
    __attribute__((aligned(64))) = {LANE(0, 4), LANE(1, 4), LANE(0, 6), LANE(1, 6)};

/* A vector for each row, a block in each quarter of it. */
INLINE void load_values(__m512i row[8], const struct stk_quad *blocks)
{
    __m512i block[4], two[4];
    UNROLLED
    for (int i = 0; i < 4; i++) {
        block[i] =
            _mm512_maskz_expand_epi8(blocks->masks[i], _mm512_loadu_si512(blocks->values[i]));
    }
    const __m512i up = _mm512_load_si512(upper), down = _mm512_load_si512(lower);
    __m512i a = _mm512_permutex2var_epi8(block[0], up, block[1]);
    __m512i b = _mm512_permutex2var_epi8(block[2], up, block[3]);
    __m512i c = _mm512_permutex2var_epi8(block[0], down, block[1]);
    __m512i d = _mm512_permutex2var_epi8(block[2], down, block[3]);
    two[0] = _mm512_inserti64x4(a, _mm512_castsi512_si256(b), 1);
    two[1] = _mm512_shuffle_i64x2(a, b, 0xee);
    two[2] = _mm512_inserti64x4(c, _mm512_castsi512_si256(d), 1);
    two[3] = _mm512_shuffle_i64x2(c, d, 0xee);
    UNROLLED
    for (int i = 0; i < 4; i++) {
        row[2 * i] = _mm512_srai_epi16(_mm512_slli_epi16(two[i], 8), 8);
        row[2 * i + 1] = _mm512_srai_epi16(two[i], 8);
    }
}

/* The first word of each quarter. */
INLINE __m512i put_dc(__m512i row, const int16_t dc[4])
{
    const __m512i shuffle = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m512i all = _mm512_castsi128_si512(_mm_loadl_epi64((const void *)dc));
    return _mm512_mask_permutexvar_epi16(row, 0x01010101, shuffle, all);
}

INLINE void load_rows(__m512i row[8], const struct stk_quad *blocks, const uint16_t factors[64])
{
    load_values(row, blocks);
    if (__builtin_expect(blocks->has_rest, 0)) {
        UNROLLED
        for (int i = 0; i < 8; i++) {
            row[i] = _mm512_add_epi16(row[i], _mm512_load_si512(blocks->rest[i]));
        }
    }
    row[0] = put_dc(row[0], blocks->dc);
    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m128i eight = _mm_loadu_si128((const void *)(factors + 8 * i));
        row[i] = _mm512_mullo_epi16(row[i], _mm512_broadcast_i32x4(eight));
    }
}

INLINE bool is_wild(__m512i words)
{
    const __m512i least = _mm512_set1_epi16(-MOST_DC), most = _mm512_set1_epi16(MOST_DC);
    return (_mm512_cmplt_epi16_mask(words, least) | _mm512_cmpgt_epi16_mask(words, most)) != 0;
}

/* A line of up to four blocks. */
INLINE void store_line(uint8_t *out, __m256i line, unsigned count)
{
    if (__builtin_expect(count == 4, 1)) {
        _mm256_storeu_si256((void *)out, line);
    } else {
        _mm256_mask_storeu_epi64(out, (__mmask8)((1u << count) - 1), line);
    }
}

/* Two columns of four lines each, from their upper halves: still to be shifted. */
INLINE __m512i upper_words(__m512i even, __m512i odd)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(even, 16), odd);
}

/* The sums of the second pass, which are of columns, to lines of bytes. */
INLINE void store_columns(uint8_t *const *rows, size_t at, unsigned count, const __m512i low[8],
                          const __m512i high[8])
{
    const __m512i shuffle =
        _mm512_setr_epi32(0, 16, 4, 20, 8, 24, 12, 28, 1, 17, 5, 21, 9, 25, 13, 29);
    const __m512i later = _mm512_add_epi32(shuffle, _mm512_set1_epi32(2));
    __m512i two[4], four[4];
    UNROLLED
    for (int i = 0; i < 4; i++) {
        __m512i above = upper_words(low[2 * i], low[2 * i + 1]);
        __m512i below = upper_words(high[2 * i], high[2 * i + 1]);
        two[i] = _mm512_packus_epi16(_mm512_srai_epi16(above, SHIFT_2 - 16),
                                     _mm512_srai_epi16(below, SHIFT_2 - 16));
    }
    /* Four columns of four lines: first those above, then those below. */
    four[0] = _mm512_unpacklo_epi16(two[0], two[1]);
    four[1] = _mm512_unpacklo_epi16(two[2], two[3]);
    four[2] = _mm512_unpackhi_epi16(two[0], two[1]);
    four[3] = _mm512_unpackhi_epi16(two[2], two[3]);
    UNROLLED
    for (int i = 0; i < 4; i++) {
        __m512i lines =
            _mm512_permutex2var_epi32(four[i & 2], i & 1 ? later : shuffle, four[(i & 2) + 1]);
        store_line(rows[2 * i] + at, _mm512_castsi512_si256(lines), count);
        store_line(rows[2 * i + 1] + at, _mm512_extracti64x4_epi64(lines, 1), count);
    }
}

/* All samples of a block without AC are the same. */
INLINE bool flat(uint8_t *const *rows, size_t at, unsigned count, const int16_t dc[4],
                 uint16_t factor)
{
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                            2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    __m128i values =
        _mm_mullo_epi16(_mm_loadl_epi64((const void *)dc), _mm_set1_epi16((int16_t)factor));
    if (is_wild(_mm512_zextsi128_si512(values))) {
        return false;
    }
    values = _mm_srai_epi16(_mm_add_epi16(values, _mm_set1_epi16(4)), 3);
    values = _mm_xor_si128(_mm_packs_epi16(values, values), _mm_set1_epi8((char)0x80));
    __m256i line = _mm256_permutexvar_epi8(spread, _mm256_castsi128_si256(values));
    UNROLLED
    for (int i = 0; i < 8; i++) {
        store_line(rows[i] + at, line, count);
    }
    return true;
}

TARGET bool stk_avx512_idct(uint8_t *const *rows, size_t at, unsigned count,
                            const struct stk_quad *blocks, const uint16_t factors[64])
{
    __m512i v[8], low[8], high[8];
    uint64_t ac = blocks->masks[0] | blocks->masks[1] | blocks->masks[2] | blocks->masks[3];
    if (ac <= 1) {
        return flat(rows, at, count, blocks->dc, factors[0]);
    }
    load_rows(v, blocks, factors);
    if (__builtin_expect(is_wild(v[0]), 0)) {
        return false;
    }
    transform(low, high, v, HALF(SHIFT_1));
    descale(v, low, high);
    transpose(v);
    transform(low, high, v, HALF(SHIFT_2) + (CENTRE << SHIFT_2));
    store_columns(rows, at, count, low, high);
    return true;
}
