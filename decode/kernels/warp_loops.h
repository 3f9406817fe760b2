/*
 * Where the pixels of a warped image come from.
 *
 * The file that includes it defines TARGET, the attributes of its target, and how a pixel is made
 * of those around a place: make_bilinear() and make_bicubic(). Each rounding is one of Pillow's.
 */
#pragma once

#ifndef TARGET
#error "define TARGET first"
#endif

#include <string.h>

#include "decode/kernels/operation_kernels.h"

#define INNER TARGET static inline __attribute__((always_inline))

/* A place of the source: a pixel, and how far it lies behind that. Pixels outside are those of the
 * edge. */
struct place {
    const struct stk_warp *warp;
    int32_t x, y;
    double dx, dy;
};

/* Write three bytes, and leave the fourth. */
INNER void make_bilinear(uint8_t *out, const struct place *at);
INNER void make_bicubic(uint8_t *out, const struct place *at);

INNER size_t clip(int32_t place, uint32_t size)
{
    return place < 0 ? 0 : place < (int32_t)size ? (size_t)place : size - 1;
}

INNER const uint8_t *row_at(const struct place *at, int32_t below)
{
    return at->warp->rows[clip(at->y + below, at->warp->height)];
}

#define CHUNK 64 /* pixels whose places are found together, by vectors */

struct places {
    int32_t x[CHUNK], y[CHUNK], is_inside[CHUNK];
    double dx[CHUNK], dy[CHUNK];
};

/* Makes four pixels from the at-th on by the bilinear filter, or returns false. */
INNER bool make_four(uint8_t *out, const struct stk_warp *warp, const struct places *places,
                     int32_t at);

/* Finds the places of `count` pixels from the first on. Returns false if one is no number. */
INNER bool find_by(struct places *out, const struct stk_warp *warp, double down, int32_t first,
                   int32_t count, bool has_perspective)
{
    const double *c = warp->factors;
    double width = warp->width, height = warp->height;
    int32_t unordered = 0;
    for (int32_t i = 0; i < count; i++) {
        double across = (double)(first + i) + 0.5;
        double x = c[0] * across + c[1] * down + c[2], y = c[3] * across + c[4] * down + c[5];
        double depth = has_perspective ? c[6] * across + c[7] * down + 1 : 1;
        x = has_perspective ? x / depth : x;
        y = has_perspective ? y / depth : y;
        unordered |= (x != x) | (y != y);
        int32_t is_inside = (x >= 0) & (x < width) & (y >= 0) & (y < height);
        x = is_inside ? x - 0.5 : 0;
        y = is_inside ? y - 0.5 : 0;
        int32_t column = (int32_t)x - (x < 0), row = (int32_t)y - (y < 0);
        out->x[i] = column;
        out->y[i] = row;
        out->dx[i] = x - column;
        out->dy[i] = y - row;
        out->is_inside[i] = is_inside;
    }
    return unordered == 0;
}

/* Returns true if all places of a row have one dy. */
INNER bool has_rows(const struct stk_warp *warp)
{
    return !warp->has_perspective && warp->factors[3] == 0;
}

/* Returns true if each dx is 0. */
INNER bool has_columns(const struct stk_warp *warp)
{
    const double *c = warp->factors;
    return !warp->has_perspective && c[0] == 1 && c[1] == 0 && c[2] == 0;
}

INNER void make_pixels(uint8_t *out, const struct stk_warp *warp, const struct places *places,
                       int32_t count, bool is_bicubic)
{
    bool by_four = !is_bicubic && (has_rows(warp) || has_columns(warp));
    for (int32_t i = 0; i < count; i++, out += 4) {
        if (by_four && i + 4 <= count && make_four(out, warp, places, i)) {
            i += 3;
            out += 12;
            continue;
        }
        struct place at = {warp, places->x[i], places->y[i], places->dx[i], places->dy[i]};
        if (!places->is_inside[i]) {
            if (warp->clears) {
                memset(out, 0, 4);
            }
        } else if (is_bicubic) {
            make_bicubic(out, &at);
        } else {
            make_bilinear(out, &at);
        }
    }
}

TARGET static bool find_places(struct places *out, const struct stk_warp *warp, double down,
                               int32_t first, int32_t count)
{
    return warp->has_perspective ? find_by(out, warp, down, first, count, true)
                                 : find_by(out, warp, down, first, count, false);
}

TARGET static bool warp_row(uint8_t *out, const struct stk_warp *warp, uint32_t row, size_t count)
{
    struct places places;
    for (size_t at = 0; at < count; at += CHUNK) {
        int32_t some = count - at < CHUNK ? (int32_t)(count - at) : CHUNK;
        if (!find_places(&places, warp, row + 0.5, (int32_t)at, some)) {
            return false;
        }
        if (warp->is_bicubic) {
            make_pixels(out + 4 * at, warp, &places, some, true);
        } else {
            make_pixels(out + 4 * at, warp, &places, some, false);
        }
    }
    return true;
}
