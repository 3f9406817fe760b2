/*
 * Lines of luma and chroma to colours, sixteen pixels at a time. As in colour_avx512.c, chroma is
 * kept in pairs of words, blue's in the lower one.
 */
#include "decode/kernels/x86_64/avx2.h"

#include <string.h>

/* Pixels that are made together, and what is written behind them if they have three bytes. */
#define PIXELS 16
#define MORE   4
/* So many bytes further on memory is fetched: about a line of a photograph. */
#define AHEAD 1536

INLINE __m256i pair_of_words(int low, int high)
{
    return _mm256_set1_epi32((int)((unsigned)high << 16 | (low & 0xffff)));
}

/* Eight pixels from their chroma less 128 and their luma in both words: red, green, blue, 255.
 * Green is the upper word of a sum in parts of 1 << 16, so nothing is shifted. */
INLINE __m256i colours(__m256i chroma, __m256i luma, size_t bytes)
{
    const __m256i blue_red = pair_of_words(29033, 22970); /* 1.772 and 1.402, halved */
    const __m256i green = pair_of_words(-11277, -23401);  /* 0.34414 and 0.71414, of 1 << 15 */
    const __m256i shuffle = _mm256_setr_epi8(1, 9, 0, 8, 3, 11, 2, 10, 5, 13, 4, 12, 7, 15, 6, 14,
                                             1, 9, 0, 8, 3, 11, 2, 10, 5, 13, 4, 12, 7, 15, 6, 14);
    __m256i twice = _mm256_add_epi16(chroma, chroma);
    __m256i br = _mm256_mulhrs_epi16(twice, blue_red);
    __m256i g = _mm256_add_epi32(_mm256_madd_epi16(twice, green), _mm256_set1_epi32(1 << 15));
    g = bytes == 3 ? g : _mm256_blend_epi16(g, _mm256_set1_epi16(255), 0x55);
    __m256i all = _mm256_packus_epi16(_mm256_add_epi16(br, luma), _mm256_add_epi16(g, luma));
    return _mm256_shuffle_epi8(all, shuffle);
}

/* The bytes that stay of four pixels, if these have three. */
INLINE __m256i shuffle_of(const struct stk_line *line)
{
    return _mm256_broadcastsi128_si256(
        line->blue_first ? _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1)
                         : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
}

/* Four pixels from each half: to `low` and `high`. Behind three bytes a pixel come four more. Some
 * processors take several times as long to exchange halves as to store them one by one. */
INLINE void store(uint8_t *low, uint8_t *high, __m256i pixels, size_t bytes, __m256i drop)
{
    pixels = bytes == 3 ? _mm256_shuffle_epi8(pixels, drop) : pixels;
    _mm_storeu_si128((void *)low, _mm256_castsi256_si128(pixels));
    _mm_storeu_si128((void *)high, _mm256_extracti128_si256(pixels, 1));
}

/* Where the next PIXELS go: aside, if writing them would touch what is behind the line. */
INLINE uint8_t *place_for(uint8_t *out, uint8_t *aside, size_t left, size_t bytes)
{
    return left * bytes >= PIXELS * bytes + (bytes == 3 ? MORE : 0) ? out : aside;
}

/* The lines of a whole image fill memory that the caches do not have, and the processor does not
 * foresee all of it. */
INLINE void fetch_ahead(const uint8_t *out)
{
    __builtin_prefetch((const void *)((uintptr_t)out + AHEAD), 1);
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
        fetch_ahead(out + bytes * p);
        for (size_t i = 0; i < PIXELS; i += 8) {
            __m256i luma = _mm256_broadcastsi128_si256(load_8(line->luma + p + i));
            __m128i both =
                _mm_unpacklo_epi8(load_8(line->chroma[0] + p + i), load_8(line->chroma[1] + p + i));
            __m256i chroma = _mm256_sub_epi16(_mm256_cvtepu8_epi16(both), _mm256_set1_epi16(128));
            uint8_t *half = to + bytes * i;
            store(half, half + 4 * bytes, colours(chroma, _mm256_shuffle_epi8(luma, spread), bytes),
                  bytes, drop);
        }
        bring(out + bytes * p, to, left, bytes);
    }
}

/* ---- chroma for two pixels each ---- */

/* Eight samples of both kinds, four in each half. Halves are put together anew for the neighbours:
 * some processors take several times as long to exchange those of a whole register. */
struct mixed {
    __m128i low, high;
};

INLINE __m256i both(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Four samples. */
INLINE __m128i mix(__m128i pairs)
{
    return _mm_maddubs_epi16(pairs, _mm_set1_epi16(0x0103));
}

/* Mixes eight samples of both kinds: three parts of this line and one of the other. */
INLINE struct mixed mix_lines(const struct stk_line *line, size_t at)
{
    __m128i blue = _mm_unpacklo_epi8(load_8(line->chroma[0] + at), load_8(line->other[0] + at));
    __m128i red = _mm_unpacklo_epi8(load_8(line->chroma[1] + at), load_8(line->other[1] + at));
    return (struct mixed){mix(_mm_unpacklo_epi16(blue, red)), mix(_mm_unpackhi_epi16(blue, red))};
}

/* Repeats the last of so many samples, if there are fewer than eight. */
INLINE struct mixed repeat_last(struct mixed mixed, size_t count)
{
    const __m256i own = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i place = _mm256_min_epi32(own, _mm256_set1_epi32((int)count - 1));
    __m256i all = _mm256_permutevar8x32_epi32(both(mixed.low, mixed.high), place);
    return (struct mixed){_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)};
}

/* The eight samples behind those at `at`, which are the last if there are no more. */
INLINE struct mixed mix_next(const struct stk_line *line, size_t at, struct mixed mixed)
{
    size_t left = line->samples - at;
    if (left <= 8) {
        mixed.low = _mm_shuffle_epi32(mixed.high, 0xff);
        return mixed;
    }
    mixed = mix_lines(line, at + 8);
    return left < 16 ? repeat_last(mixed, left - 8) : mixed;
}

/* Every other byte of sixteen, in both words of a pixel. */
INLINE __m256i spread_luma(__m256i luma, int first)
{
    const __m256i even =
        _mm256_setr_epi8(0, -1, 0, -1, 2, -1, 2, -1, 4, -1, 4, -1, 6, -1, 6, -1, 8, -1, 8, -1, 10,
                         -1, 10, -1, 12, -1, 12, -1, 14, -1, 14, -1);
    return _mm256_shuffle_epi8(luma, _mm256_add_epi8(even, _mm256_set1_epi16((int16_t)first)));
}

/* The middle of chroma, in parts of a sixteenth. Sums are signed without it. */
#define CENTRE (16 * 128)

/* The rounding of even and odd pixels, and the shuffle that drops the fourth byte of each. */
struct constants {
    __m256i even, odd, drop;
};

/* Sixteen pixels: every other four in each. Behind three bytes a pixel come four more, so the order
 * counts. */
INLINE void store_four(uint8_t *out, __m256i low, __m256i high, size_t bytes, __m256i drop)
{
    if (bytes == 3) {
        low = _mm256_shuffle_epi8(low, drop);
        high = _mm256_shuffle_epi8(high, drop);
    }
    _mm_storeu_si128((void *)out, _mm256_castsi256_si128(low));
    _mm_storeu_si128((void *)(out + 4 * bytes), _mm256_castsi256_si128(high));
    _mm_storeu_si128((void *)(out + 8 * bytes), _mm256_extracti128_si256(low, 1));
    _mm_storeu_si128((void *)(out + 12 * bytes), _mm256_extracti128_si256(high, 1));
}

/* The sixteen pixels around eight samples. `before` has those before the upper four and the lower
 * four themselves, `behind` the upper four and those behind. */
INLINE void two_each(uint8_t *out, const uint8_t *luma, size_t bytes, __m256i before, __m256i own,
                     __m256i behind, struct constants constants)
{
    __m256i sixteen = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)luma));
    __m256i thrice = _mm256_mullo_epi16(own, _mm256_set1_epi16(3));
    before = _mm256_alignr_epi8(own, before, 12);
    behind = _mm256_alignr_epi8(behind, own, 4);
    __m256i even = _mm256_add_epi16(_mm256_add_epi16(thrice, constants.even), before);
    __m256i odd = _mm256_add_epi16(_mm256_add_epi16(thrice, constants.odd), behind);
    even = colours(_mm256_srai_epi16(even, 4), spread_luma(sixteen, 0), bytes);
    odd = colours(_mm256_srai_epi16(odd, 4), spread_luma(sixteen, 1), bytes);
    store_four(out, _mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd), bytes,
               constants.drop);
}

INLINE void halved(uint8_t *out, const struct stk_line *from, size_t bytes,
                   struct constants constants)
{
    const struct stk_line own = *from, *line = &own; /* `out` may not change it */
    uint8_t aside[4 * PIXELS + MORE];
    struct mixed mixed = repeat_last(mix_lines(line, 0), line->samples), next;
    __m256i before = both(_mm_shuffle_epi32(mixed.low, 0), mixed.low);
    for (size_t at = 0; at < line->samples; at += 8) {
        uint8_t *here = out + 2 * bytes * at, *to = here;
        size_t left = line->pixels - 2 * at;
        fetch_ahead(here);
        if (__builtin_expect(at + 16 < line->samples, 1)) {
            next = mix_lines(line, at + 8);
        } else {
            to = place_for(here, aside, left, bytes);
            next = mix_next(line, at, mixed);
        }
        __m256i behind = both(mixed.high, next.low);
        two_each(to, line->luma + 2 * at, bytes, before, both(mixed.low, mixed.high), behind,
                 constants);
        bring(here, to, left, bytes);
        before = behind;
        mixed = next;
    }
}

TARGET void stk_avx2_colour(uint8_t *out, const struct stk_line *line)
{
    const struct constants constants = {_mm256_set1_epi16((int16_t)(line->round[0] - CENTRE)),
                                        _mm256_set1_epi16((int16_t)(line->round[1] - CENTRE)),
                                        shuffle_of(line)};
    if (line->samples == 0) {
        line->bytes == 3 ? full(out, line, 3) : full(out, line, 4);
    } else {
        line->bytes == 3 ? halved(out, line, 3, constants) : halved(out, line, 4, constants);
    }
}
