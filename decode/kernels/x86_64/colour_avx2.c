/*
 * Lines of luma and chroma to colours, sixteen pixels at a time. As in colour_avx512.c, chroma is
 * kept in pairs of words, blue's in the lower one.
 */
#include "decode/kernels/x86_64/avx2.h"

#include <string.h>

/* Pixels that are made together, and what is written behind them if they have three bytes. */
#define PIXELS 16
#define MORE   8

INLINE __m256i pair_of_words(int low, int high)
{
    return _mm256_set1_epi32((int)((unsigned)high << 16 | (low & 0xffff)));
}

/* Eight pixels from their chroma less 128 and their luma in both words: red, green, blue, 255. */
INLINE __m256i colours(__m256i chroma, __m256i luma)
{
    const __m256i blue_red = pair_of_words(29033, 22970); /* 1.772 and 1.402, halved */
    const __m256i green = pair_of_words(-11277, -23401);  /* 0.34414 and 0.71414, of 1 << 15 */
    const __m256i shuffle = _mm256_setr_epi8(1, 8, 0, 9, 3, 10, 2, 11, 5, 12, 4, 13, 7, 14, 6, 15,
                                             1, 8, 0, 9, 3, 10, 2, 11, 5, 12, 4, 13, 7, 14, 6, 15);
    __m256i br = _mm256_mulhrs_epi16(_mm256_add_epi16(chroma, chroma), blue_red);
    __m256i g = _mm256_add_epi32(_mm256_madd_epi16(chroma, green), _mm256_set1_epi32(1 << 14));
    g = _mm256_blend_epi16(_mm256_srai_epi32(g, 15), _mm256_set1_epi16(255), 0xaa);
    __m256i bytes = _mm256_packus_epi16(_mm256_add_epi16(br, luma), _mm256_add_epi16(g, luma));
    return _mm256_shuffle_epi8(bytes, shuffle);
}

/* The bytes that stay of four pixels, if these have three. */
INLINE __m256i shuffle_of(const struct stk_line *line)
{
    return _mm256_broadcastsi128_si256(
        line->blue_first ? _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1)
                         : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
}

/* Eight pixels. */
INLINE void store(uint8_t *out, __m256i pixels, size_t bytes, __m256i drop)
{
    const __m256i close = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    if (bytes == 3) {
        pixels = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(pixels, drop), close);
    }
    _mm256_storeu_si256((void *)out, pixels);
}

/* Where the next PIXELS go: aside, if writing them would touch what is behind the line. */
INLINE uint8_t *place_for(uint8_t *out, uint8_t *aside, size_t left, size_t bytes)
{
    return left * bytes >= PIXELS * bytes + (bytes == 3 ? MORE : 0) ? out : aside;
}

INLINE void bring(uint8_t *out, const uint8_t *from, size_t left, size_t bytes)
{
    if (from != out) {
        memcpy(out, from, bytes * (left < PIXELS ? left : PIXELS));
    }
}

INLINE __m128i load_8(const uint8_t *from)
{
    return _mm_loadl_epi64((const void *)from);
}

/* ---- chroma of its own for each pixel ---- */

INLINE void full(uint8_t *out, const struct stk_line *line, size_t bytes)
{
    const __m128i twice = _mm_setr_epi8(0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1);
    const __m256i spread = _mm256_inserti128_si256(
        _mm256_castsi128_si256(twice), _mm_add_epi8(twice, _mm_set1_epi32(0x00040004)), 1);
    const __m256i drop = shuffle_of(line);
    uint8_t aside[4 * PIXELS + MORE];
    for (size_t p = 0; p < line->pixels; p += PIXELS) {
        size_t left = line->pixels - p;
        uint8_t *to = place_for(out + bytes * p, aside, left, bytes);
        for (size_t i = 0; i < PIXELS; i += 8) {
            __m256i luma = _mm256_broadcastsi128_si256(load_8(line->luma + p + i));
            __m128i both =
                _mm_unpacklo_epi8(load_8(line->chroma[0] + p + i), load_8(line->chroma[1] + p + i));
            __m256i chroma = _mm256_sub_epi16(_mm256_cvtepu8_epi16(both), _mm256_set1_epi16(128));
            store(to + bytes * i, colours(chroma, _mm256_shuffle_epi8(luma, spread)), bytes, drop);
        }
        bring(out + bytes * p, to, left, bytes);
    }
}

/* ---- chroma for two pixels each ---- */

/*
 * Mixes eight samples of both kinds: three parts of this line and one of the other, less the number
 * that makes them signed after the next step. Beyond the last sample it repeats that one.
 */
INLINE __m256i mix_lines(const struct stk_line *line, size_t at)
{
    size_t left = line->samples - at;
    __m128i blue = _mm_unpacklo_epi8(load_8(line->chroma[0] + at), load_8(line->other[0] + at));
    __m128i red = _mm_unpacklo_epi8(load_8(line->chroma[1] + at), load_8(line->other[1] + at));
    __m256i all = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi16(blue, red)),
                                          _mm_unpackhi_epi16(blue, red), 1);
    all = _mm256_maddubs_epi16(all, _mm256_set1_epi16(0x0103));
    all = _mm256_sub_epi16(all, _mm256_set1_epi16(4 * 128));
    if (__builtin_expect(left < 8, 0)) {
        const __m256i own = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        __m256i last = _mm256_set1_epi32((int)left - 1);
        all = _mm256_permutevar8x32_epi32(all, _mm256_min_epi32(own, last));
    }
    return all;
}

/* Every other byte of sixteen, in both words of a pixel. */
INLINE __m256i spread_luma(__m256i luma, int first)
{
    const __m256i even =
        _mm256_setr_epi8(0, -1, 0, -1, 2, -1, 2, -1, 4, -1, 4, -1, 6, -1, 6, -1, 8, -1, 8, -1, 10,
                         -1, 10, -1, 12, -1, 12, -1, 14, -1, 14, -1);
    return _mm256_shuffle_epi8(luma, _mm256_add_epi8(even, _mm256_set1_epi16((int16_t)first)));
}

struct rounding {
    __m256i even, odd;
};

/* The sixteen pixels around eight samples whose neighbours are known. */
INLINE void two_each(uint8_t *out, const uint8_t *luma, size_t bytes, const __m256i mixed[3],
                     struct rounding round, __m256i drop)
{
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)luma));
    __m256i before =
        _mm256_alignr_epi8(mixed[1], _mm256_permute2x128_si256(mixed[0], mixed[1], 0x21), 12);
    __m256i behind =
        _mm256_alignr_epi8(_mm256_permute2x128_si256(mixed[1], mixed[2], 0x21), mixed[1], 4);
    __m256i thrice = _mm256_add_epi16(mixed[1], _mm256_add_epi16(mixed[1], mixed[1]));
    __m256i even = _mm256_add_epi16(_mm256_add_epi16(thrice, round.even), before);
    __m256i odd = _mm256_add_epi16(_mm256_add_epi16(thrice, round.odd), behind);
    even = colours(_mm256_srai_epi16(even, 4), spread_luma(both, 0));
    odd = colours(_mm256_srai_epi16(odd, 4), spread_luma(both, 1));
    __m256i low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);
    store(out, _mm256_permute2x128_si256(low, high, 0x20), bytes, drop);
    store(out + 8 * bytes, _mm256_permute2x128_si256(low, high, 0x31), bytes, drop);
}

INLINE void halved(uint8_t *out, const struct stk_line *line, size_t bytes, struct rounding round)
{
    const __m256i drop = shuffle_of(line);
    uint8_t aside[4 * PIXELS + MORE];
    __m256i mixed[3];
    mixed[1] = mix_lines(line, 0);
    mixed[0] = _mm256_broadcastd_epi32(_mm256_castsi256_si128(mixed[1]));
    for (size_t at = 0; at < line->samples; at += 8) {
        size_t left = line->pixels - 2 * at;
        uint8_t *to = place_for(out + 2 * bytes * at, aside, left, bytes);
        mixed[2] = at + 8 < line->samples
                       ? mix_lines(line, at + 8)
                       : _mm256_permutevar8x32_epi32(mixed[1], _mm256_set1_epi32(7));
        two_each(to, line->luma + 2 * at, bytes, mixed, round, drop);
        bring(out + 2 * bytes * at, to, left, bytes);
        mixed[0] = mixed[1];
        mixed[1] = mixed[2];
    }
}

TARGET void stk_avx2_colour(uint8_t *out, const struct stk_line *line)
{
    const struct rounding round = {_mm256_set1_epi16(line->round[0]),
                                   _mm256_set1_epi16(line->round[1])};
    if (line->samples == 0) {
        line->bytes == 3 ? full(out, line, 3) : full(out, line, 4);
    } else {
        line->bytes == 3 ? halved(out, line, 3, round) : halved(out, line, 4, round);
    }
}
