/*
 * Pixels of warped images: the four bytes of one are four doubles.
 *
 * The file that includes it has warp_loops.h, and defines two_rows: numbers of two rows, four bands
 * of each. It defines doubles_of(), rows_between(), first_of() and second_of(), too.
 */
#pragma once

#ifndef TARGET
#error "define TARGET first"
#endif

INNER __m256d between(__m256d from, __m256d step, double part)
{
    return _mm256_add_pd(from, _mm256_mul_pd(step, _mm256_set1_pd(part)));
}

INNER int32_t pixel_of(const uint8_t *row, size_t x)
{
    int32_t pixel;
    memcpy(&pixel, row + 4 * x, sizeof pixel);
    return pixel;
}

/* Returns true if `before` pixels before the place's in each direction, and `behind`, are there. */
INNER bool is_inside(const struct place *at, int32_t before, int32_t behind)
{
    return at->x >= before && at->x + behind < (int32_t)at->warp->width && at->y >= before &&
           at->y + behind < (int32_t)at->warp->height;
}

/* Returns the four pixels from the one before the place's on, each as four bytes. */
INNER __m128i pixels_at_edge(const struct place *at, int32_t below)
{
    uint32_t width = at->warp->width;
    const uint8_t *row = row_at(at, below);
    return _mm_setr_epi32(pixel_of(row, clip(at->x - 1, width)), pixel_of(row, clip(at->x, width)),
                          pixel_of(row, clip(at->x + 1, width)),
                          pixel_of(row, clip(at->x + 2, width)));
}

INNER const uint8_t *pixel_inside(const struct place *at, int32_t behind, int32_t below)
{
    return at->warp->rows[at->y + below] + 4 * (ptrdiff_t)(at->x + behind);
}

INNER __m128i four_pixels(const struct place *at, int32_t below)
{
    return _mm_loadu_si128((const void *)pixel_inside(at, -1, below));
}

INNER __m128i two_pixels(const struct place *at, int32_t below)
{
    return _mm_loadl_epi64((const void *)pixel_inside(at, 0, below));
}

/* Rounds to zero within a byte. */
INNER void store_colour(uint8_t *out, __m256d value)
{
    value = _mm256_min_pd(_mm256_max_pd(value, _mm256_setzero_pd()), _mm256_set1_pd(255.0));
    __m128i bands = _mm256_cvttpd_epi32(value);
    bands = _mm_packus_epi16(_mm_packs_epi32(bands, bands), bands);
    uint32_t pixel = (uint32_t)_mm_cvtsi128_si32(bands), old;
    memcpy(&old, out, sizeof old);
    pixel = (pixel & 0xffffff) | (old & 0xff000000);
    memcpy(out, &pixel, sizeof pixel);
}

/* Makes a pixel of two pixels each of two rows. */
INNER void bilinear(uint8_t *out, const struct place *at, __m128i upper, __m128i lower)
{
    upper = _mm_cvtepu8_epi16(upper);
    lower = _mm_cvtepu8_epi16(lower);
    __m128i left = _mm_unpacklo_epi64(upper, lower), right = _mm_unpackhi_epi64(upper, lower);
    two_rows from = doubles_of(left), step = doubles_of(_mm_sub_epi16(right, left));
    two_rows made = rows_between(from, step, at->dx);
    __m256d first = first_of(made), second = second_of(made);
    store_colour(out, between(first, _mm256_sub_pd(second, first), at->dy));
}

INNER void make_bilinear(uint8_t *out, const struct place *at)
{
    if (is_inside(at, 0, 1)) {
        bilinear(out, at, two_pixels(at, 0), two_pixels(at, 1));
    } else {
        bilinear(out, at, _mm_srli_si128(pixels_at_edge(at, 0), 4),
                 _mm_srli_si128(pixels_at_edge(at, 1), 4));
    }
}

INNER __m256d doubles_at(const uint8_t *pixel)
{
    return _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(pixel_of(pixel, 0))));
}

INNER __m128i bands_between(const uint8_t *here, const uint8_t *next, double part)
{
    __m256d from = doubles_at(here), step = _mm256_sub_pd(doubles_at(next), from);
    return _mm256_cvttpd_epi32(between(from, step, part)); /* it is between two bytes */
}

INNER __m128i bands_of(const struct stk_warp *warp, const struct places *places, int32_t at,
                       bool are_on_rows)
{
    const uint8_t *const *rows = warp->rows + places->y[at];
    ptrdiff_t x = 4 * (ptrdiff_t)places->x[at];
    return are_on_rows ? bands_between(rows[0] + x, rows[0] + x + 4, places->dx[at])
                       : bands_between(rows[0] + x, rows[1] + x, places->dy[at]);
}

INNER __m128i four_of(const int32_t *numbers)
{
    return _mm_loadu_si128((const void *)numbers);
}

/* Compares four numbers with 0 and the last number. */
INNER __m128i are_before(__m128i numbers, uint32_t size)
{
    return _mm_andnot_si128(_mm_srai_epi32(numbers, 31),
                            _mm_cmpgt_epi32(_mm_set1_epi32((int)size - 1), numbers));
}

INNER bool make_four(uint8_t *out, const struct stk_warp *warp, const struct places *places,
                     int32_t at)
{
    bool are_on_rows = has_rows(warp) && places->dy[at] == 0;
    __m128i inner = _mm_and_si128(are_before(four_of(places->x + at), warp->width),
                                  are_before(four_of(places->y + at), warp->height));
    inner =
        _mm_and_si128(inner, _mm_cmpgt_epi32(four_of(places->is_inside + at), _mm_setzero_si128()));
    if (_mm_movemask_epi8(inner) != 0xffff || !(are_on_rows || has_columns(warp))) {
        return false;
    }
    __m128i made[4];
    for (int32_t i = 0; i < 4; i++) {
        made[i] = bands_of(warp, places, at + i, are_on_rows);
    }
    __m128i first = _mm_packs_epi32(made[0], made[1]), second = _mm_packs_epi32(made[2], made[3]);
    __m128i pixels = _mm_packus_epi16(first, second), fourth = _mm_set1_epi32((int)0xff000000);
    __m128i old = four_of((const void *)out);
    _mm_storeu_si128((void *)out, _mm_blendv_epi8(pixels, old, fourth));
    return true;
}

/* Returns base + part * (second + part * (third + part * last)). */
INNER __m256d cubic(__m256d base, __m256d second, __m256d third, __m256d last, double part)
{
    return between(base, between(second, between(third, last, part), part), part);
}

/*
 * A place right on a row or a column: only the pixels along it count, since a step by nothing
 * leaves a number as it is. Shears and translations have such places alone.
 */
INNER bool is_on_line(const struct place *at)
{
    return at->dy == 0 || at->dx == 0;
}

/* The pixels of a line, around a place: four words each, and what follows them. */
struct warp_line {
    __m128i before, here, next, after;
    double part; /* of the way to the next pixel */
};

INNER __m128i words_below(const struct place *at, int32_t below)
{
    const uint8_t *row = row_at(at, below);
    return _mm_cvtepu8_epi16(_mm_cvtsi32_si128(pixel_of(row, clip(at->x, at->warp->width))));
}

INNER struct warp_line line_at(const struct place *at)
{
    if (at->dy != 0) {
        return (struct warp_line){words_below(at, -1), words_below(at, 0), words_below(at, 1),
                                  words_below(at, 2), at->dy};
    }
    __m128i pixels = is_inside(at, 1, 2) ? four_pixels(at, 0) : pixels_at_edge(at, 0);
    __m128i first = _mm_cvtepu8_epi16(pixels);
    __m128i last = _mm_unpackhi_epi8(pixels, _mm_setzero_si128());
    return (struct warp_line){first, _mm_srli_si128(first, 8), last, _mm_srli_si128(last, 8),
                              at->dx};
}

INNER __m256d doubles_of_four(__m128i words)
{
    return _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(words));
}

/* Interpolates along two rows. All differences of bytes are exact. */
INNER two_rows cubic_rows(const struct place *at, __m128i upper, __m128i lower)
{
    __m128i zero = _mm_setzero_si128();
    __m128i first = _mm_unpacklo_epi8(upper, zero), second = _mm_unpacklo_epi8(lower, zero);
    __m128i a = _mm_unpacklo_epi64(first, second), b = _mm_unpackhi_epi64(first, second);
    first = _mm_unpackhi_epi8(upper, zero);
    second = _mm_unpackhi_epi8(lower, zero);
    __m128i c = _mm_unpacklo_epi64(first, second), d = _mm_unpackhi_epi64(first, second);
    __m128i front = _mm_sub_epi16(a, b), back = _mm_sub_epi16(c, d);
    __m128i both = _mm_add_epi16(front, back);
    two_rows made = doubles_of(_mm_sub_epi16(zero, both));
    made = rows_between(doubles_of(_mm_add_epi16(front, both)), made, at->dx);
    made = rows_between(doubles_of(_mm_sub_epi16(c, a)), made, at->dx);
    return rows_between(doubles_of(b), made, at->dx);
}

INNER void bicubic(uint8_t *out, const struct place *at, two_rows upper, two_rows lower)
{
    __m256d a = first_of(upper), b = second_of(upper), c = first_of(lower), d = second_of(lower);
    __m256d front = _mm256_sub_pd(a, b);
    __m256d third = _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(front, front), c), d);
    __m256d last = _mm256_add_pd(_mm256_sub_pd(_mm256_sub_pd(b, a), c), d);
    store_colour(out, cubic(b, _mm256_sub_pd(c, a), third, last, at->dy));
}

INNER void bicubic_line(uint8_t *out, struct warp_line line)
{
    __m128i front = _mm_sub_epi16(line.before, line.here);
    __m128i both = _mm_add_epi16(front, _mm_sub_epi16(line.next, line.after));
    __m256d second = doubles_of_four(_mm_sub_epi16(line.next, line.before));
    __m256d third = doubles_of_four(_mm_add_epi16(front, both));
    __m256d last = doubles_of_four(_mm_sub_epi16(_mm_setzero_si128(), both));
    store_colour(out, cubic(doubles_of_four(line.here), second, third, last, line.part));
}

INNER void make_bicubic(uint8_t *out, const struct place *at)
{
    if (is_on_line(at)) {
        bicubic_line(out, line_at(at));
    } else if (is_inside(at, 1, 2)) {
        bicubic(out, at, cubic_rows(at, four_pixels(at, -1), four_pixels(at, 0)),
                cubic_rows(at, four_pixels(at, 1), four_pixels(at, 2)));
    } else {
        bicubic(out, at, cubic_rows(at, pixels_at_edge(at, -1), pixels_at_edge(at, 0)),
                cubic_rows(at, pixels_at_edge(at, 1), pixels_at_edge(at, 2)));
    }
}
