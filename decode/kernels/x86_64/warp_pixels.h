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

/* Returns base + part * (second + part * (third + part * last)). */
INNER __m256d cubic(__m256d base, __m256d second, __m256d third, __m256d last, double part)
{
    return between(base, between(second, between(third, last, part), part), part);
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

INNER void make_bicubic(uint8_t *out, const struct place *at)
{
    if (is_inside(at, 1, 2)) {
        bicubic(out, at, cubic_rows(at, four_pixels(at, -1), four_pixels(at, 0)),
                cubic_rows(at, four_pixels(at, 1), four_pixels(at, 2)));
    } else {
        bicubic(out, at, cubic_rows(at, pixels_at_edge(at, -1), pixels_at_edge(at, 0)),
                cubic_rows(at, pixels_at_edge(at, 1), pixels_at_edge(at, 2)));
    }
}
