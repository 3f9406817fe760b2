/*
 * libjpeg-turbo's slow integer method as it is on this processor, for vectors of any width. Each
 * 128 bits of a vector belong to one block. Sums of two inputs wrap at 16 bits, sums of products
 * have 32 bits, and both passes saturate.
 *
 * The file that includes this defines the type `vector`, V(name) for an intrinsic of its width,
 * INLINE, and multiply_add(sums, pairs, factors), which adds the products of two words each to a
 * sum. add_and_subtract(out, sums, pairs, factors, opposite) does so with both signs.
 */
#pragma once

#define CONST_BITS 13
#define PASS1_BITS 2
/* The shift after each pass: that of the second one also divides by the eight of the DCT. */
#define SHIFT_1     (CONST_BITS - PASS1_BITS)
#define SHIFT_2     (CONST_BITS + PASS1_BITS + 3)
#define HALF(shift) (1 << ((shift)-1))
#define CENTRE      128
/* Beyond this, libjpeg-turbo's code for columns without AC wraps, and all other code saturates. */
#define MOST_DC ((1 << (15 - PASS1_BITS)) - 1)

/* The factors of the method, with 13 fractional bits. */
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

/* The place in zigzag order of the coefficient of a row and column, as a constant. DIAGONALS is the
 * place behind the first d diagonals; every other diagonal is walked downwards. */
#define DIAGONALS(d) ((d) * ((d) + 1) / 2)
#define PLACE_UPPER(r, c)                                                                          \
    (DIAGONALS((r) + (c)) + ((r) + (c)) % 2 * (r) + (1 - ((r) + (c)) % 2) * (c))
/* The lower half is the mirror image of the upper one. */
#define PLACE(r, c) ((r) + (c) < 8 ? PLACE_UPPER(r, c) : 63 - PLACE_UPPER(7 - (r), 7 - (c)))

INLINE vector factors_of(int x, int y)
{
    return V(set1_epi32)((int)((unsigned)y << 16 | (x & 0xffff)));
}

/* a * x + b * y of each pair of words (a, b); and that added to sums. */
INLINE vector products(vector pairs, int x, int y)
{
    return V(madd_epi16)(pairs, factors_of(x, y));
}

INLINE vector sum_products(vector sums, vector pairs, int x, int y)
{
    return multiply_add(sums, pairs, factors_of(x, y));
}

INLINE void sums_and_differences(vector out[2], vector sums, vector pairs, int x, int y)
{
    add_and_subtract(out, sums, pairs, factors_of(x, y), factors_of(-x, -y));
}

/* The inputs of a DCT as the method takes them: pairs of words. */
struct pairs {
    vector z04, z26, z34, z71, z53;
};

/* The sums of half of the DCTs, plus `more`. */
INLINE void transform_pairs(vector out[8], struct pairs z, int more)
{
    const vector round = V(set1_epi32)(more);
    vector sum04 = sum_products(round, z.z04, 1 << CONST_BITS, 0);
    vector difference04 = sum_products(round, z.z04, 0, 1 << CONST_BITS);
    vector even03[2], even12[2];
    sums_and_differences(even03, sum04, z.z26, F_0_541 + F_0_765, F_0_541);
    sums_and_differences(even12, difference04, z.z26, F_0_541, F_0_541 - F_1_847);
    vector z3 = products(z.z34, F_1_175 - F_1_961, F_1_175);
    vector z4 = products(z.z34, F_1_175, F_1_175 - F_0_390);
    vector odd0 = sum_products(z4, z.z71, -F_0_899, F_1_501 - F_0_899);
    vector odd1 = sum_products(z3, z.z53, -F_2_562, F_3_072 - F_2_562);
    vector odd2 = sum_products(z4, z.z53, F_2_053 - F_2_562, -F_2_562);
    vector odd3 = sum_products(z3, z.z71, F_0_298 - F_0_899, -F_0_899);
    out[0] = V(add_epi32)(even03[0], odd0);
    out[7] = V(sub_epi32)(even03[0], odd0);
    out[1] = V(add_epi32)(even12[0], odd1);
    out[6] = V(sub_epi32)(even12[0], odd1);
    out[2] = V(add_epi32)(even12[1], odd2);
    out[5] = V(sub_epi32)(even12[1], odd2);
    out[3] = V(add_epi32)(even03[1], odd3);
    out[4] = V(sub_epi32)(even03[1], odd3);
}

/* Transforms eight vectors, where each word is one input of a DCT of its own. */
INLINE void transform(vector low[8], vector high[8], const vector v[8], int more)
{
    vector sum04 = V(add_epi16)(v[0], v[4]), difference04 = V(sub_epi16)(v[0], v[4]);
    vector sum73 = V(add_epi16)(v[3], v[7]), sum51 = V(add_epi16)(v[1], v[5]);
    const struct pairs lower = {
        .z04 = V(unpacklo_epi16)(sum04, difference04),
        .z26 = V(unpacklo_epi16)(v[2], v[6]),
        .z34 = V(unpacklo_epi16)(sum73, sum51),
        .z71 = V(unpacklo_epi16)(v[7], v[1]),
        .z53 = V(unpacklo_epi16)(v[5], v[3]),
    };
    const struct pairs upper = {
        .z04 = V(unpackhi_epi16)(sum04, difference04),
        .z26 = V(unpackhi_epi16)(v[2], v[6]),
        .z34 = V(unpackhi_epi16)(sum73, sum51),
        .z71 = V(unpackhi_epi16)(v[7], v[1]),
        .z53 = V(unpackhi_epi16)(v[5], v[3]),
    };
    transform_pairs(low, lower, more);
    transform_pairs(high, upper, more);
}

/* The sums of the first pass as words. */
INLINE void descale(vector v[8], const vector low[8], const vector high[8])
{
    UNROLLED
    for (int i = 0; i < 8; i++) {
        v[i] = V(packs_epi32)(V(srai_epi32)(low[i], SHIFT_1), V(srai_epi32)(high[i], SHIFT_1));
    }
}

INLINE void transpose(vector v[8])
{
    vector a[8], b[8];
    UNROLLED
    for (int i = 0; i < 4; i++) {
        a[2 * i] = V(unpacklo_epi16)(v[i], v[i + 4]);
        a[2 * i + 1] = V(unpackhi_epi16)(v[i], v[i + 4]);
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        b[2 * i] = V(unpacklo_epi16)(a[i], a[i + 4]);
        b[2 * i + 1] = V(unpackhi_epi16)(a[i], a[i + 4]);
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        v[2 * i] = V(unpacklo_epi16)(b[i], b[i + 4]);
        v[2 * i + 1] = V(unpackhi_epi16)(b[i], b[i + 4]);
    }
}
