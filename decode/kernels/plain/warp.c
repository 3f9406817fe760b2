/* Warped images on any processor, band by band. */
#define TARGET
#include "decode/kernels/warp_loops.h"

/* The places of a row's pixels around a place, in bytes. */
struct columns {
    size_t first[4];
};

INNER void find_columns(struct columns *out, const struct place *at, int32_t first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        out->first[i] = 4 * clip(at->x + first + (int32_t)i, at->warp->width);
    }
}

INNER bool make_four(uint8_t *out, const struct stk_warp *warp, const struct places *places,
                     int32_t at)
{
    (void)out, (void)warp, (void)places, (void)at;
    return false;
}

INNER void make_bilinear(uint8_t *out, const struct place *at)
{
    const uint8_t *const rows[2] = {row_at(at, 0), row_at(at, 1)};
    struct columns columns;
    find_columns(&columns, at, 0, 2);
    for (unsigned band = 0; band < 3; band++) {
        double line[2];
        for (unsigned i = 0; i < 2; i++) {
            int left = rows[i][columns.first[0] + band], right = rows[i][columns.first[1] + band];
            line[i] = left + (right - left) * at->dx;
        }
        out[band] = (uint8_t)(line[0] + (line[1] - line[0]) * at->dy);
    }
}

INNER double cubic(double a, double b, double c, double d, double part)
{
    double second = -a + c, third = 2 * (a - b) + c - d, last = -a + b - c + d;
    return b + part * (second + part * (third + part * last));
}

INNER void make_bicubic(uint8_t *out, const struct place *at)
{
    const uint8_t *const rows[4] = {row_at(at, -1), row_at(at, 0), row_at(at, 1), row_at(at, 2)};
    struct columns columns;
    find_columns(&columns, at, -1, 4);
    for (unsigned band = 0; band < 3; band++) {
        double line[4];
        for (unsigned i = 0; i < 4; i++) {
            const uint8_t *row = rows[i] + band;
            line[i] = cubic(row[columns.first[0]], row[columns.first[1]], row[columns.first[2]],
                            row[columns.first[3]], at->dx);
        }
        double value = cubic(line[0], line[1], line[2], line[3], at->dy);
        out[band] = value <= 0.0 ? 0 : value >= 255.0 ? 255 : (uint8_t)value;
    }
}

bool stk_plain_warp(uint8_t *out, const struct stk_warp *warp, uint32_t row, size_t count)
{
    return warp_row(out, warp, row, count);
}
