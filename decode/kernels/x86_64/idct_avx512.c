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
#define SHIFT_1 (CONST_BITS - PASS1_BITS)
#define SHIFT_2 (CONST_BITS + PASS1_BITS + 3)
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

/* The lower and the upper four words of each block, as sums of 32 bits. */
struct sums {
    __m512i low, high;
};

/* The words of two vectors, side by side. */
INLINE struct sums pair(__m512i a, __m512i b)
{
    return (struct sums){_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)};
}

/* Adds a * x + b * y. */
INLINE struct sums add_products(struct sums sums, struct sums pairs, int x, int y)
{
    const __m512i factors = _mm512_set1_epi32((int)((unsigned)y << 16 | (x & 0xffff)));
    sums.low = _mm512_dpwssd_epi32(sums.low, pairs.low, factors);
    sums.high = _mm512_dpwssd_epi32(sums.high, pairs.high, factors);
    return sums;
}

INLINE struct sums products(struct sums pairs, int x, int y)
{
    const __m512i factors = _mm512_set1_epi32((int)((unsigned)y << 16 | (x & 0xffff)));
    return (struct sums){_mm512_madd_epi16(pairs.low, factors),
                         _mm512_madd_epi16(pairs.high, factors)};
}

INLINE __m512i descale(struct sums sums, int shift)
{
    return _mm512_packs_epi32(_mm512_srai_epi32(sums.low, (unsigned)shift),
                              _mm512_srai_epi32(sums.high, (unsigned)shift));
}

INLINE void butterfly(__m512i *sum, __m512i *difference, struct sums even, struct sums odd,
                      int shift)
{
    *sum = descale(
        (struct sums){_mm512_add_epi32(even.low, odd.low), _mm512_add_epi32(even.high, odd.high)},
        shift);
    *difference = descale(
        (struct sums){_mm512_sub_epi32(even.low, odd.low), _mm512_sub_epi32(even.high, odd.high)},
        shift);
}

/* Eight vectors, of which each word is one input of a DCT of its own. */
INLINE void transform(__m512i v[8], int shift)
{
    const __m512i half = _mm512_set1_epi32(1 << (shift - 1));
    const struct sums round = {half, half};
    struct sums z26 = pair(v[2], v[6]);
    struct sums z04 = pair(_mm512_add_epi16(v[0], v[4]), _mm512_sub_epi16(v[0], v[4]));
    struct sums sum04 = add_products(round, z04, 1 << CONST_BITS, 0);
    struct sums difference04 = add_products(round, z04, 0, 1 << CONST_BITS);
    struct sums even0 = add_products(sum04, z26, F_0_541 + F_0_765, F_0_541);
    struct sums even3 = add_products(sum04, z26, -F_0_541 - F_0_765, -F_0_541);
    struct sums even1 = add_products(difference04, z26, F_0_541, F_0_541 - F_1_847);
    struct sums even2 = add_products(difference04, z26, -F_0_541, F_1_847 - F_0_541);
    struct sums z34 = pair(_mm512_add_epi16(v[3], v[7]), _mm512_add_epi16(v[1], v[5]));
    struct sums z3 = products(z34, F_1_175 - F_1_961, F_1_175);
    struct sums z4 = products(z34, F_1_175, F_1_175 - F_0_390);
    struct sums z71 = pair(v[7], v[1]), z53 = pair(v[5], v[3]);
    struct sums odd0 = add_products(z4, z71, -F_0_899, F_1_501 - F_0_899);
    struct sums odd1 = add_products(z3, z53, -F_2_562, F_3_072 - F_2_562);
    struct sums odd2 = add_products(z4, z53, F_2_053 - F_2_562, -F_2_562);
    struct sums odd3 = add_products(z3, z71, F_0_298 - F_0_899, -F_0_899);
    butterfly(&v[0], &v[7], even0, odd0, shift);
    butterfly(&v[1], &v[6], even1, odd1, shift);
    butterfly(&v[2], &v[5], even2, odd2, shift);
    butterfly(&v[3], &v[4], even3, odd3, shift);
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

/* Columns of words to lines of bytes. */
INLINE void store_columns(uint8_t *const *rows, size_t at, unsigned count, const __m512i v[8])
{
    const __m512i centre = _mm512_set1_epi8((char)0x80);
    const __m512i order =
        _mm512_setr_epi32(0, 16, 4, 20, 8, 24, 12, 28, 1, 17, 5, 21, 9, 25, 13, 29);
    const __m512i later = _mm512_add_epi32(order, _mm512_set1_epi32(2));
    __m512i a[4], b[4];
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_xor_si512(_mm512_packs_epi16(v[i], v[i + 4]), centre);
    }
    /* Columns 0 and 2, 4 and 6, 1 and 3, 5 and 7; then four columns of four lines. */
    __m512i c02 = _mm512_unpacklo_epi8(a[0], a[2]), c46 = _mm512_unpackhi_epi8(a[0], a[2]);
    __m512i c13 = _mm512_unpacklo_epi8(a[1], a[3]), c57 = _mm512_unpackhi_epi8(a[1], a[3]);
    b[0] = _mm512_unpacklo_epi8(c02, c13);
    b[1] = _mm512_unpacklo_epi8(c46, c57);
    b[2] = _mm512_unpackhi_epi8(c02, c13);
    b[3] = _mm512_unpackhi_epi8(c46, c57);
    for (int i = 0; i < 4; i++) {
        __m512i two = _mm512_permutex2var_epi32(b[i & 2], i & 1 ? later : order, b[(i & 2) + 1]);
        store_line(rows[2 * i] + at, _mm512_castsi512_si256(two), count);
        store_line(rows[2 * i + 1] + at, _mm512_extracti64x4_epi64(two, 1), count);
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
    __m512i v[8];
    uint64_t ac = blocks->masks[0] | blocks->masks[1] | blocks->masks[2] | blocks->masks[3];
    if (ac <= 1) {
        return flat(rows, at, count, blocks->dc, factors[0]);
    }
    load_rows(v, blocks, factors);
    if (__builtin_expect(is_wild(v[0]), 0)) {
        return false;
    }
    transform(v, SHIFT_1);
    transpose(v);
    transform(v, SHIFT_2);
    store_columns(rows, at, count, v);
    return true;
}
