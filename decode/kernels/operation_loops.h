/*
 * The loops of struct stk_operations, for a compiler to make vectors of.
 *
 * The file that includes it defines LOOP, the attributes of its target, and WARP, its function. It
 * has the table afterwards. Nothing here may be contracted or reordered: each rounding is one of
 * Pillow's.
 */
#ifndef LOOP
#error "define LOOP first"
#endif

#include <string.h>

#include "decode/kernels/operation_kernels.h"

#define INNER LOOP __attribute__((always_inline)) inline

INNER uint32_t load_pixel(const uint8_t *at)
{
    uint32_t pixel;
    memcpy(&pixel, at, sizeof pixel);
    return pixel;
}

INNER void store_pixel(uint8_t *at, uint32_t pixel)
{
    memcpy(at, &pixel, sizeof pixel);
}

/* ---- blending ---- */

LOOP void blend(uint8_t *restrict out, const uint8_t *restrict a, const uint8_t *restrict b,
                float share, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        float value = (float)a[i] + share * (float)(b[i] - a[i]);
        value = value < 0.0f ? 0.0f : value;
        out[i] = (uint8_t)(int32_t)(value > 255.0f ? 255.0f : value);
    }
}

/* ---- colours ---- */

LOOP void to_grey(uint8_t *restrict out, const uint8_t *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load_pixel(in + 4 * i);
        uint32_t red = pixel & 255, green = pixel >> 8 & 255, blue = pixel >> 16 & 255;
        out[i] = (uint8_t)((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
    }
}

LOOP void from_grey(uint8_t *restrict out, const uint8_t *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_pixel(out + 4 * i, in[i] * UINT32_C(0x10101) | UINT32_C(0xff000000));
    }
}

INNER int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

INNER int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Returns the hue, which goes from 0 to 1, times 255. `span` is not 0. */
INNER int32_t hue_of(int32_t red, int32_t green, int32_t blue, int32_t value, float span)
{
    float to_red = (float)(value - red) / span, to_green = (float)(value - green) / span;
    float to_blue = (float)(value - blue) / span;
    float in_blue = (float)(4.0 + (double)to_green - (double)to_red);
    float in_green = (float)(2.0 + (double)to_red - (double)to_blue);
    float sixth = green == value ? in_green : in_blue;
    sixth = red == value ? to_blue - to_green : sixth;
    double turns = (double)sixth / 6.0 + 1.0; /* below 2: its remainder is exact */
    float hue = (float)(turns >= 1.0 ? turns - 1.0 : turns);
    return (int32_t)((double)hue * 255.0);
}

LOOP void to_hsv(uint8_t *restrict out, const uint8_t *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load_pixel(in + 4 * i);
        int32_t red = pixel & 255, green = pixel >> 8 & 255, blue = pixel >> 16 & 255;
        int32_t value = most(red, most(green, blue));
        int32_t span = value - least(red, least(green, blue));
        float above_zero = (float)most(span, 1);
        int32_t hue = hue_of(red, green, blue, value, above_zero);
        int32_t saturation = (int32_t)((double)(above_zero / (float)most(value, 1)) * 255.0);
        uint32_t colour = (uint32_t)hue | (uint32_t)saturation << 8;
        colour = span == 0 ? 0 : colour;
        store_pixel(out + 4 * i, colour | (uint32_t)value << 16 | (pixel & UINT32_C(0xff000000)));
    }
}

/* Returns one of two values without a branch. */
INNER uint32_t chosen(int32_t sixth, int32_t wanted, uint32_t value, uint32_t other)
{
    uint32_t mask = -(uint32_t)(sixth == wanted);
    return (value & mask) | (other & ~mask);
}

INNER uint32_t rounded(double value)
{
    return (uint32_t)(int32_t)(value + 0.5);
}

LOOP void from_hsv(uint8_t *restrict out, const uint8_t *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load_pixel(in + 4 * i);
        double sixths = (double)(int32_t)(pixel & 255) * 6.0 / 255.0;
        int32_t sixth = (int32_t)sixths;
        double part = (double)(float)(sixths - (double)sixth);
        double colour = (double)(float)((double)(int32_t)(pixel >> 8 & 255) / 255.0);
        uint32_t v = pixel >> 16 & 255;
        double value = (double)(int32_t)v;
        uint32_t p = rounded(value * (1.0 - colour));
        uint32_t q = rounded(value * (1.0 - colour * part));
        uint32_t t = rounded(value * (1.0 - colour * (1.0 - part)));
        sixth = least(sixth, 5 - 5 * (sixth == 6)); /* the last hue is the first one */
        uint32_t red = chosen(sixth, 1, q, chosen(sixth, 4, t, v));
        red = chosen(sixth, 2, p, chosen(sixth, 3, p, red));
        uint32_t green = chosen(sixth, 0, t, chosen(sixth, 3, q, v));
        green = chosen(sixth, 4, p, chosen(sixth, 5, p, green));
        uint32_t blue = chosen(sixth, 2, t, chosen(sixth, 5, q, v));
        blue = chosen(sixth, 0, p, chosen(sixth, 1, p, blue));
        uint32_t all = red | green << 8 | blue << 16;
        store_pixel(out + 4 * i, all | (pixel & UINT32_C(0xff000000)));
    }
}

/* ---- neighbours ---- */

INNER float three(const uint8_t *at, const float *weights, size_t step)
{
    return (float)at[0] * weights[0] + (float)at[step] * weights[1] +
           (float)at[2 * step] * weights[2];
}

LOOP void weigh_nine(uint8_t *restrict out, const uint8_t *const rows[3], const float weights[9],
                     size_t step, size_t bytes)
{
    const uint8_t *below = rows[2] - step, *same = rows[1] - step, *above = rows[0] - step;
    for (size_t i = 0; i < bytes; i++) {
        float sum = 0.5f + three(below + i, weights, step);
        sum += three(same + i, weights + 3, step);
        sum += three(above + i, weights + 6, step);
        sum = sum < 0.0f ? 0.0f : sum;
        out[i] = (uint8_t)(int32_t)(sum > 255.0f ? 255.0f : sum);
    }
}

LOOP void slide_box(uint8_t *restrict out, uint32_t *restrict sums, const uint8_t *restrict leaving,
                    const uint8_t *restrict entering, const uint8_t *restrict next,
                    struct stk_box_weights weights, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint32_t sum = sums[i] + entering[i] - leaving[i];
        uint32_t ends = (uint32_t)leaving[i] + next[i];
        sums[i] = sum;
        out[i] = (uint8_t)((sum * weights.inner + ends * weights.outer + (1u << 23)) >> 24);
    }
}

#define OPERATIONS                                                                                 \
    {                                                                                              \
        .blend = blend, .to_grey = to_grey, .from_grey = from_grey, .to_hsv = to_hsv,              \
        .from_hsv = from_hsv, .weigh_nine = weigh_nine, .slide_box = slide_box, .warp = WARP,      \
    }
