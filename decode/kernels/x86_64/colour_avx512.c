/*
 * Lines of luma and chroma to colours, 32 pixels at a time: chroma gets its full size as
 * libjpeg-turbo's triangle filter gives it, and its colours with their roundings.
 *
 * Chroma is kept in pairs of words, blue's in the lower one. One product of pairs, added, gives
 * green; a product word by word gives blue and red.
 */
#include "decode/kernels/x86_64/avx512.h"

/* Sixteen pixels; a word each. */
INLINE __m512i pair_of_words(int low, int high)
{
    return _mm512_set1_epi32((int)((unsigned)high << 16 | (low & 0xffff)));
}

/*
 * Makes sixteen pixels of their chroma less 128 and their luma in both words. The bytes must still
 * be put in order: in each 128 bits stand four times blue and red, then four times green and 255.
 * The factors are exact: they were tried for each chroma, and the tests do it for all colours.
 */
INLINE __m512i colours(__m512i chroma, __m512i luma)
{
    const __m512i blue_red = pair_of_words(29033, 22970); /* 1.772 and 1.402, halved */
    const __m512i green = pair_of_words(-11277, -23401);  /* 0.34414 and 0.71414, of 1 << 15 */
    __m512i br = _mm512_mulhrs_epi16(_mm512_add_epi16(chroma, chroma), blue_red);
    __m512i g =
        _mm512_srai_epi32(_mm512_dpwssd_epi32(_mm512_set1_epi32(1 << 14), chroma, green), 15);
    /* The lower words of g, with 255 above, which luma only makes more: (g & mask) | others. */
    g = _mm512_ternarylogic_epi32(g, pair_of_words(-1, 0), pair_of_words(0, 255), 0xea);
    return _mm512_packus_epi16(_mm512_add_epi16(br, luma), _mm512_add_epi16(g, luma));
}

INLINE __mmask64 first_bits(size_t count)
{
    return count >= 64 ? ~0ull : (1ull << count) - 1;
}

INLINE void store(uint8_t *out, __m512i bytes, size_t count)
{
    if (__builtin_expect(count >= 64, 1)) {
        _mm512_storeu_si512(out, bytes);
    } else if (count > 0) {
        _mm512_mask_storeu_epi8(out, first_bits(count), bytes);
    }
}

INLINE __m128i load_16(const uint8_t *from)
{
    return _mm_loadu_si128((const void *)from);
}

/* Pixel p of four in 128 bits; four of 16 follow each other in `lane`. */
#define RED(p)        (((p) / 4) * 16 + (p) % 4 * 2 + 1)
#define GREEN(p)      (((p) / 4) * 16 + (p) % 4 * 2 + 8)
#define BLUE(p)       (((p) / 4) * 16 + (p) % 4 * 2)
#define FOURTH(p)     (((p) / 4) * 16 + (p) % 4 * 2 + 9)
#define EACH_4(x, p)  x(p), x((p) + 1), x((p) + 2), x((p) + 3)
#define EACH_16(x, p) EACH_4(x, p), EACH_4(x, (p) + 4), EACH_4(x, (p) + 8), EACH_4(x, (p) + 12)
#define BYTES_3(p)    RED(p), GREEN(p), BLUE(p)
#define BGR_3(p)      BLUE(p), GREEN(p), RED(p)
#define BYTES_4(p)    RED(p), GREEN(p), BLUE(p), FOURTH(p)
/* The bytes of 32 pixels, where the odd ones stand 64 bytes behind the even ones. */
#define MIXED(x, p) ((p) % 2 * 64 + x((p) / 2))
#define MIXED_3(p)  MIXED(RED, p), MIXED(GREEN, p), MIXED(BLUE, p)
#define MIXED_B(p)  MIXED(BLUE, p), MIXED(GREEN, p), MIXED(RED, p)
#define MIXED_4(p)  MIXED(RED, p), MIXED(GREEN, p), MIXED(BLUE, p), MIXED(FOURTH, p)
#define ALIGNED     __attribute__((aligned(64)))

static const uint8_t plain_3[64] ALIGNED = {EACH_16(BYTES_3, 0)};
static const uint8_t plain_bgr[64] ALIGNED = {EACH_16(BGR_3, 0)};
static const uint8_t plain_4[64] ALIGNED = {EACH_16(BYTES_4, 0)};
static const uint8_t mixed_3[128] ALIGNED = {EACH_16(MIXED_3, 0), EACH_16(MIXED_3, 16)};
static const uint8_t mixed_bgr[128] ALIGNED = {EACH_16(MIXED_B, 0), EACH_16(MIXED_B, 16)};
static const uint8_t mixed_4[128] ALIGNED = {EACH_16(MIXED_4, 0), EACH_16(MIXED_4, 16)};

/* ---- chroma of its own for each pixel ---- */

/* Sixteen bytes of each, as words side by side. */
INLINE __m512i interleave(__m128i low, __m128i high)
{
    __m256i mixed = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(low, high)),
                                            _mm_unpackhi_epi8(low, high), 1);
    return _mm512_cvtepu8_epi16(mixed);
}

INLINE void full(uint8_t *out, const struct stk_line *line, size_t bytes)
{
    const uint8_t *three = line->blue_first ? plain_bgr : plain_3;
    const __m512i shuffle = _mm512_load_si512(bytes == 3 ? three : plain_4);
    for (size_t p = 0; p < line->pixels; p += 16) {
        size_t left = line->pixels - p;
        __m128i y = load_16(line->luma + p);
        __m128i cb = load_16(line->chroma[0] + p), cr = load_16(line->chroma[1] + p);
        __m512i chroma = _mm512_sub_epi16(interleave(cb, cr), _mm512_set1_epi16(128));
        __m512i pixels = _mm512_permutexvar_epi8(shuffle, colours(chroma, interleave(y, y)));
        /* Bytes that are written too far are written again with the next pixels. */
        store(out + bytes * p, pixels, bytes * left >= 64 ? 64 : bytes * (left < 16 ? left : 16));
    }
}

/* ---- chroma for two pixels each ---- */

INLINE __m512i four_vectors(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

#define TOGETHER(i) (i), (i) + 16, (i) + 32, (i) + 48

/*
 * Mixes sixteen samples of both kinds: three parts of this line and one of the other, less the
 * number that makes them signed after the next step. Beyond the last sample it repeats that one.
 */
INLINE __m512i mix_lines(const struct stk_line *line, size_t at)
{
    static const uint8_t shuffle[64] ALIGNED = {EACH_16(TOGETHER, 0)};
    size_t left = line->samples - at;
    __m512i all = four_vectors(load_16(line->chroma[0] + at), load_16(line->other[0] + at),
                               load_16(line->chroma[1] + at), load_16(line->other[1] + at));
    all = _mm512_permutexvar_epi8(_mm512_load_si512(shuffle), all);
    all = _mm512_maddubs_epi16(all, _mm512_set1_epi16(0x0103));
    all = _mm512_sub_epi16(all, _mm512_set1_epi16(4 * 128));
    if (__builtin_expect(left < 16, 0)) {
        const __m512i own = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        __m512i last = _mm512_set1_epi32((int)left - 1);
        all = _mm512_permutexvar_epi32(_mm512_min_epi32(own, last), all);
    }
    return all;
}

/* Every other byte of 32, in both words of a pixel. */
INLINE __m512i spread_luma(__m256i luma, int first)
{
    const __m512i shuffle = _mm512_setr_epi32(0x00000, 0x20002, 0x40004, 0x60006, 0x80008, 0xa000a,
                                              0xc000c, 0xe000e, 0x100010, 0x120012, 0x140014,
                                              0x160016, 0x180018, 0x1a001a, 0x1c001c, 0x1e001e);
    __m512i index = _mm512_add_epi8(shuffle, _mm512_set1_epi8((char)first));
    return _mm512_maskz_permutexvar_epi8(0x5555555555555555, index, _mm512_castsi256_si512(luma));
}

struct wide_rounding {
    __m512i even, odd;
};

/* The 32 pixels around sixteen samples whose neighbours are known. */
INLINE void two_each(uint8_t *out, const struct stk_line *line, size_t p, size_t bytes,
                     const __m512i mixed[3], struct wide_rounding round)
{
    const uint8_t *three = line->blue_first ? mixed_bgr : mixed_3;
    const uint8_t *shuffles = bytes == 3 ? three : mixed_4;
    size_t left = line->pixels - p;
    __m256i luma = _mm256_loadu_si256((const void *)(line->luma + p));
    __m512i before = _mm512_alignr_epi32(mixed[1], mixed[0], 15);
    __m512i behind = _mm512_alignr_epi32(mixed[2], mixed[1], 1);
    __m512i thrice = _mm512_add_epi16(mixed[1], _mm512_add_epi16(mixed[1], mixed[1]));
    __m512i even = _mm512_add_epi16(_mm512_add_epi16(thrice, round.even), before);
    __m512i odd = _mm512_add_epi16(_mm512_add_epi16(thrice, round.odd), behind);
    even = colours(_mm512_srai_epi16(even, 4), spread_luma(luma, 0));
    odd = colours(_mm512_srai_epi16(odd, 4), spread_luma(luma, 1));
    __m512i low = _mm512_permutex2var_epi8(even, _mm512_load_si512(shuffles), odd);
    __m512i high = _mm512_permutex2var_epi8(even, _mm512_load_si512(shuffles + 64), odd);
    size_t count = bytes * (left < 32 ? left : 32);
    store(out + bytes * p, low, count);
    if (bytes == 3 && count == 96) {
        _mm256_storeu_si256((void *)(out + bytes * p + 64), _mm512_castsi512_si256(high));
    } else if (count > 64) {
        store(out + bytes * p + 64, high, count - 64);
    }
}

INLINE void halved(uint8_t *out, const struct stk_line *line, size_t bytes,
                   struct wide_rounding round)
{
    __m512i mixed[3];
    mixed[1] = mix_lines(line, 0);
    mixed[0] = _mm512_broadcastd_epi32(_mm512_castsi512_si128(mixed[1]));
    for (size_t at = 0; at < line->samples; at += 16) {
        mixed[2] = at + 16 < line->samples
                       ? mix_lines(line, at + 16)
                       : _mm512_permutexvar_epi32(_mm512_set1_epi32(15), mixed[1]);
        two_each(out, line, 2 * at, bytes, mixed, round);
        mixed[0] = mixed[1];
        mixed[1] = mixed[2];
    }
}

TARGET void stk_avx512_colour(uint8_t *out, const struct stk_line *line)
{
    const struct wide_rounding round = {_mm512_set1_epi16(line->round[0]),
                                        _mm512_set1_epi16(line->round[1])};
    if (line->samples == 0) {
        line->bytes == 3 ? full(out, line, 3) : full(out, line, 4);
    } else {
        line->bytes == 3 ? halved(out, line, 3, round) : halved(out, line, 4, round);
    }
}
