/* The inverse DCT of two blocks at once, one in each half of a register. */
#include "decode/kernels/x86_64/avx2.h"

#include <string.h>

typedef __m256i vector;
#define V(name) _mm256_##name

INLINE vector multiply_add(vector sums, vector pairs, vector factors)
{
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, factors));
}

INLINE void add_and_subtract(vector out[2], vector sums, vector pairs, vector factors,
                             vector opposite)
{
    vector products = _mm256_madd_epi16(pairs, factors);
    (void)opposite; /* one product less */
    out[0] = _mm256_add_epi32(sums, products);
    out[1] = _mm256_sub_epi32(sums, products);
}

#include "decode/kernels/x86_64/islow.h"

/* The bytes of two lines in zigzag order, one in the even and one in the odd places: those that
 * stand in a part of sixteen. */
#define FROM(part, row, column)                                                                    \
    (PLACE(row, column) / 16 == (part) ? (char)(PLACE(row, column) % 16) : (char)STK_NO_RANK)
#define TWO(part, row, column) FROM(part, row, column), FROM(part, (row) + 1, column)
#define LINES(part, row)                                                                           \
    _mm256_broadcastsi128_si256(                                                                   \
        _mm_setr_epi8(TWO(part, row, 0), TWO(part, row, 1), TWO(part, row, 2), TWO(part, row, 3),  \
                      TWO(part, row, 4), TWO(part, row, 5), TWO(part, row, 6), TWO(part, row, 7)))

#define PICK(number, row) _mm256_shuffle_epi8(part[number], LINES(number, row))

INLINE __m256i either(__m256i a, __m256i b)
{
    return _mm256_or_si256(a, b);
}

/* A load that fills both halves takes no time of the units that shuffle; a load into one half does.
 */
INLINE __m256i load_both(const void *left, const void *right)
{
    __m128i low = _mm_loadu_si128(left), high = _mm_loadu_si128(right);
    return _mm256_blend_epi32(_mm256_castsi128_si256(low), _mm256_broadcastsi128_si256(high), 0xf0);
}

/* The next eight places of two blocks. The upper half of each means nothing. */
INLINE __m256i spread(const int8_t *values[2], unsigned left, unsigned right)
{
    __m256i eight = _mm256_shuffle_epi8(load_both(values[0], values[1]),
                                        load_both(stk_ranks[left], stk_ranks[right]));
    values[0] += _mm_popcnt_u32(left);
    values[1] += _mm_popcnt_u32(right);
    return eight;
}

/* The bytes of two lines each. The first two and the last two have none in one of the parts. */
INLINE void load_bytes(__m256i two[4], const struct stk_quad *blocks, unsigned b)
{
    const int8_t *values[2] = {blocks->values[b], blocks->values[b + 1]};
    uint64_t left = blocks->masks[b], right = blocks->masks[b + 1];
    __m256i part[4];
    UNROLLED
    for (int i = 0; i < 4; i++) {
        __m256i low = spread(values, left >> 16 * i & 255, right >> 16 * i & 255);
        __m256i high = spread(values, left >> (16 * i + 8) & 255, right >> (16 * i + 8) & 255);
        part[i] = _mm256_unpacklo_epi64(low, high);
    }
    two[0] = either(either(PICK(0, 0), PICK(1, 0)), PICK(2, 0));
    two[1] = either(either(PICK(0, 2), PICK(1, 2)), either(PICK(2, 2), PICK(3, 2)));
    two[2] = either(either(PICK(0, 4), PICK(1, 4)), either(PICK(2, 4), PICK(3, 4)));
    two[3] = either(either(PICK(1, 6), PICK(2, 6)), PICK(3, 6));
}

/* A vector for each line of blocks `b` and `b` + 1. */
INLINE void load_rows(__m256i row[8], const struct stk_quad *blocks, unsigned b,
                      const uint16_t factors[64])
{
    __m256i two[4];
    load_bytes(two, blocks, b);
    UNROLLED
    for (int i = 0; i < 4; i++) {
        row[2 * i] = _mm256_maddubs_epi16(_mm256_set1_epi16(1), two[i]);
        row[2 * i + 1] = _mm256_srai_epi16(two[i], 8);
    }
    if (__builtin_expect(blocks->has_rest, 0)) {
        UNROLLED
        for (int i = 0; i < 8; i++) {
            const void *rest = blocks->rest[i] + 8 * b;
            row[i] = _mm256_add_epi16(row[i], _mm256_load_si256(rest));
        }
    }
    __m256i dc = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_cvtsi32_si128(blocks->dc[b])),
                                         _mm_cvtsi32_si128(blocks->dc[b + 1]), 1);
    row[0] = _mm256_blend_epi16(row[0], dc, 1);
    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m128i eight = _mm_loadu_si128((const void *)(factors + 8 * i));
        row[i] = _mm256_mullo_epi16(row[i], _mm256_broadcastsi128_si256(eight));
    }
}

INLINE bool is_wild(__m256i words)
{
    const __m256i most = _mm256_set1_epi16(MOST_DC), least = _mm256_set1_epi16(-MOST_DC);
    return _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpgt_epi16(words, most),
                                                _mm256_cmpgt_epi16(least, words))) != 0;
}

/* A line of one or two blocks. */
INLINE void store_line(uint8_t *out, __m128i line, unsigned count)
{
    if (__builtin_expect(count >= 2, 1)) {
        _mm_storeu_si128((void *)out, line);
    } else {
        _mm_storel_epi64((void *)out, line);
    }
}

/* Two columns of four lines each, from their upper halves: still to be shifted. */
INLINE __m256i upper_words(__m256i even, __m256i odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
}

/* Lines `first` and the next one, out of four columns each. */
INLINE void store_two(uint8_t *const *rows, size_t at, unsigned count, __m256i two)
{
    two = _mm256_permute4x64_epi64(two, 0xd8);
    store_line(rows[0] + at, _mm256_castsi256_si128(two), count);
    store_line(rows[1] + at, _mm256_extracti128_si256(two, 1), count);
}

/* The sums of the second pass, which are of columns, to lines of bytes. */
INLINE void store_columns(uint8_t *const *rows, size_t at, unsigned count, const __m256i low[8],
                          const __m256i high[8])
{
    __m256i two[4];
    UNROLLED
    for (int i = 0; i < 4; i++) {
        __m256i above = upper_words(low[2 * i], low[2 * i + 1]);
        __m256i below = upper_words(high[2 * i], high[2 * i + 1]);
        two[i] = _mm256_packus_epi16(_mm256_srai_epi16(above, SHIFT_2 - 16),
                                     _mm256_srai_epi16(below, SHIFT_2 - 16));
    }
    UNROLLED
    for (int i = 0; i < 2; i++) {
        __m256i left =
            i ? _mm256_unpackhi_epi16(two[0], two[1]) : _mm256_unpacklo_epi16(two[0], two[1]);
        __m256i right =
            i ? _mm256_unpackhi_epi16(two[2], two[3]) : _mm256_unpacklo_epi16(two[2], two[3]);
        store_two(rows + 4 * i, at, count, _mm256_unpacklo_epi32(left, right));
        store_two(rows + 4 * i + 2, at, count, _mm256_unpackhi_epi32(left, right));
    }
}

/* All samples of a block without AC are the same. */
INLINE bool flat(uint8_t *const *rows, size_t at, unsigned count, const int16_t dc[2],
                 uint16_t factor)
{
    const __m128i spread = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    int32_t both;
    memcpy(&both, dc, sizeof both);
    __m128i values = _mm_cvtsi32_si128(both);
    values = _mm_mullo_epi16(values, _mm_set1_epi16((int16_t)factor));
    if (is_wild(_mm256_zextsi128_si256(values))) {
        return false;
    }
    values = _mm_srai_epi16(_mm_add_epi16(values, _mm_set1_epi16(4)), 3);
    values = _mm_xor_si128(_mm_packs_epi16(values, values), _mm_set1_epi8((char)0x80));
    UNROLLED
    for (int i = 0; i < 8; i++) {
        store_line(rows[i] + at, _mm_shuffle_epi8(values, spread), count);
    }
    return true;
}

/* Blocks `b` and `b` + 1. */
INLINE bool two_blocks(uint8_t *const *rows, size_t at, unsigned count,
                       const struct stk_quad *blocks, unsigned b, const uint16_t factors[64])
{
    __m256i v[8], low[8], high[8];
    if ((blocks->masks[b] | blocks->masks[b + 1]) <= 1) {
        return flat(rows, at, count, blocks->dc + b, factors[0]);
    }
    load_rows(v, blocks, b, factors);
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

TARGET bool stk_avx2_idct(uint8_t *const *rows, size_t at, unsigned count,
                          const struct stk_quad *blocks, const uint16_t factors[64])
{
    return two_blocks(rows, at, count, blocks, 0, factors) &&
           (count <= 2 || two_blocks(rows, at + 16, count - 2, blocks, 2, factors));
}
