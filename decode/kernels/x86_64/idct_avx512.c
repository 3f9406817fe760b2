/*
 * The inverse DCT of four blocks at once, one in each 128 bits of a register: the slow integer
 * method, in libjpeg-turbo's own steps for this processor. Its sums of two inputs wrap at 16 bits,
 * sums of products have 32, and both passes saturate.
 */
#include "decode/kernels/x86_64/avx512.h"

#include "decode/entropy/places.h"

#define CONST_BITS 13
#define PASS1_BITS 2
/* What is shifted out behind each pass: the second one also divides by the eight of the DCT. */
#define SHIFT_1     (CONST_BITS - PASS1_BITS)
#define SHIFT_2     (CONST_BITS + PASS1_BITS + 3)
#define HALF(shift) (1 << ((shift)-1))
#define CENTRE      128
/* Beyond this, libjpeg-turbo's way for columns without AC wraps where all others saturate. */
#define MOST_DC ((1 << (15 - PASS1_BITS)) - 1)

/* Of the method, with 13 fractional bits. */
#define F_0_298 2446
#define F_0_390 3196
#define F_0_541 4433
#define F_0_765 6270
#define F_0_899 7373
#define F_1_175 9633
#define F_1_501 12299
#define F_1_847 15137
#define F_1_961 16069
#define F_2_053 16819
#define F_2_562 20995
#define F_3_072 25172

/* Adds a * x + b * y of each pair of words (a, b). */
INLINE __m512i add_products(__m512i sums, __m512i pairs, int x, int y)
{
    return _mm512_dpwssd_epi32(sums, pairs,
                               _mm512_set1_epi32((int)((unsigned)y << 16 | (x & 0xffff))));
}

INLINE __m512i products(__m512i pairs, int x, int y)
{
    return _mm512_madd_epi16(pairs, _mm512_set1_epi32((int)((unsigned)y << 16 | (x & 0xffff))));
}

/* The inputs of a DCT as the method takes them: pairs of words. */
struct pairs {
    __m512i z04, z26, z34, z71, z53;
};

/* The sums of half of the DCTs, plus `more`. */
INLINE void transform_pairs(__m512i out[8], struct pairs z, int more)
{
    const __m512i round = _mm512_set1_epi32(more);
    __m512i sum04 = add_products(round, z.z04, 1 << CONST_BITS, 0);
    __m512i difference04 = add_products(round, z.z04, 0, 1 << CONST_BITS);
    __m512i even0 = add_products(sum04, z.z26, F_0_541 + F_0_765, F_0_541);
    __m512i even3 = add_products(sum04, z.z26, -F_0_541 - F_0_765, -F_0_541);
    __m512i even1 = add_products(difference04, z.z26, F_0_541, F_0_541 - F_1_847);
    __m512i even2 = add_products(difference04, z.z26, -F_0_541, F_1_847 - F_0_541);
    __m512i z3 = products(z.z34, F_1_175 - F_1_961, F_1_175);
    __m512i z4 = products(z.z34, F_1_175, F_1_175 - F_0_390);
    __m512i odd0 = add_products(z4, z.z71, -F_0_899, F_1_501 - F_0_899);
    __m512i odd1 = add_products(z3, z.z53, -F_2_562, F_3_072 - F_2_562);
    __m512i odd2 = add_products(z4, z.z53, F_2_053 - F_2_562, -F_2_562);
    __m512i odd3 = add_products(z3, z.z71, F_0_298 - F_0_899, -F_0_899);
    out[0] = _mm512_add_epi32(even0, odd0);
    out[7] = _mm512_sub_epi32(even0, odd0);
    out[1] = _mm512_add_epi32(even1, odd1);
    out[6] = _mm512_sub_epi32(even1, odd1);
    out[2] = _mm512_add_epi32(even2, odd2);
    out[5] = _mm512_sub_epi32(even2, odd2);
    out[3] = _mm512_add_epi32(even3, odd3);
    out[4] = _mm512_sub_epi32(even3, odd3);
}

/* Of eight vectors, each word of which is one input of a DCT of its own: the lower four words'
 * first. */
INLINE void transform(__m512i low[8], __m512i high[8], const __m512i v[8], int more)
{
    __m512i sum04 = _mm512_add_epi16(v[0], v[4]), difference04 = _mm512_sub_epi16(v[0], v[4]);
    __m512i sum73 = _mm512_add_epi16(v[3], v[7]), sum51 = _mm512_add_epi16(v[1], v[5]);
    const struct pairs lower = {
        .z04 = _mm512_unpacklo_epi16(sum04, difference04),
        .z26 = _mm512_unpacklo_epi16(v[2], v[6]),
        .z34 = _mm512_unpacklo_epi16(sum73, sum51),
        .z71 = _mm512_unpacklo_epi16(v[7], v[1]),
        .z53 = _mm512_unpacklo_epi16(v[5], v[3]),
    };
    const struct pairs upper = {
        .z04 = _mm512_unpackhi_epi16(sum04, difference04),
        .z26 = _mm512_unpackhi_epi16(v[2], v[6]),
        .z34 = _mm512_unpackhi_epi16(sum73, sum51),
        .z71 = _mm512_unpackhi_epi16(v[7], v[1]),
        .z53 = _mm512_unpackhi_epi16(v[5], v[3]),
    };
    transform_pairs(low, lower, more);
    transform_pairs(high, upper, more);
}

/* The sums of the first pass as words. */
INLINE void descale(__m512i v[8], const __m512i low[8], const __m512i high[8])
{
    for (int i = 0; i < 8; i++) {
        v[i] = _mm512_packs_epi32(_mm512_srai_epi32(low[i], SHIFT_1),
                                  _mm512_srai_epi32(high[i], SHIFT_1));
    }
}

INLINE void transpose(__m512i v[8])
{
    __m512i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm512_unpacklo_epi16(v[i], v[i + 4]);
        a[2 * i + 1] = _mm512_unpackhi_epi16(v[i], v[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm512_unpacklo_epi16(a[i], a[i + 4]);
        b[2 * i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm512_unpacklo_epi16(b[i], b[i + 4]);
        v[2 * i + 1] = _mm512_unpackhi_epi16(b[i], b[i + 4]);
    }
}

/*
 * Where the bytes of two rows stand in zigzag order, one row in the even and one in the odd ones;
 * for a look-up in the 128 bytes of two blocks.
 */
#define TWO(block, row, column)                                                                    \
    64 * (block) + STK_PLACE(row, column), 64 * (block) + STK_PLACE((row) + 1, column)
#define LANE(block, row)                                                                           \
    TWO(block, row, 0), TWO(block, row, 1), TWO(block, row, 2), TWO(block, row, 3),                \
        TWO(block, row, 4), TWO(block, row, 5), TWO(block, row, 6), TWO(block, row, 7)
static const uint8_t upper[64]
    __attribute__((aligned(64))) = {LANE(0, 0), LANE(1, 0), LANE(0, 2), LANE(1, 2)};
static const uint8_t lower[64]
    __attribute__((aligned(64))) = {LANE(0, 4), LANE(1, 4), LANE(0, 6), LANE(1, 6)};

/* A vector for each row, a block in each quarter of it. */
INLINE void load_values(__m512i row[8], const struct stk_blocks *blocks)
{
    __m512i block[4], two[4];
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
    for (int i = 0; i < 4; i++) {
        row[2 * i] = _mm512_srai_epi16(_mm512_slli_epi16(two[i], 8), 8);
        row[2 * i + 1] = _mm512_srai_epi16(two[i], 8);
    }
}

/* The first word of each quarter. */
INLINE __m512i put_dc(__m512i row, const int16_t dc[4])
{
    const __m512i order = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m512i all = _mm512_castsi128_si512(_mm_loadl_epi64((const void *)dc));
    return _mm512_mask_permutexvar_epi16(row, 0x01010101, order, all);
}

INLINE void load_rows(__m512i row[8], const struct stk_blocks *blocks, const uint16_t factors[64])
{
    load_values(row, blocks);
    if (__builtin_expect(blocks->has_rest, 0)) {
        for (int i = 0; i < 8; i++) {
            row[i] = _mm512_add_epi16(row[i], _mm512_load_si512(blocks->rest[i]));
        }
    }
    row[0] = put_dc(row[0], blocks->dc);
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
    const __m512i order =
        _mm512_setr_epi32(0, 16, 4, 20, 8, 24, 12, 28, 1, 17, 5, 21, 9, 25, 13, 29);
    const __m512i later = _mm512_add_epi32(order, _mm512_set1_epi32(2));
    __m512i two[4], four[4];
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
    for (int i = 0; i < 4; i++) {
        __m512i lines =
            _mm512_permutex2var_epi32(four[i & 2], i & 1 ? later : order, four[(i & 2) + 1]);
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
    for (int i = 0; i < 8; i++) {
        store_line(rows[i] + at, line, count);
    }
    return true;
}

TARGET bool stk_avx512_idct(uint8_t *const *rows, size_t at, unsigned count,
                            const struct stk_blocks *blocks, const uint16_t factors[64])
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
