/*
 * The loops of struct stk_operations, for a compiler to make vectors of.
 *
 * The file that includes it defines LOOP, the attributes of its target, LANES, the numbers in one
 * of its vectors, and WARP, LOOK_UP and SLIDE_BOX, its functions. It has the table afterwards. If
 * it has choices or blends of its own, it says so. Nothing here may be contracted or reordered:
 * each rounding is one of Pillow's.
 */
#pragma once

#ifndef LOOP
#error "define LOOP first"
#endif

#include <string.h>

#include "decode/kernels/operation_kernels.h"
#include "decode/kernels/vectors.h"

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

#include "decode/kernels/colour_loops.h"

/* ---- tables ---- */

LOOP void look_up_grey(uint8_t *restrict out, const uint8_t *restrict in, const uint8_t *table,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = table[in[i]];
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

#define SOME 512 /* bytes that are made together */
#define STEP 4   /* the most */

/* Weighs by integers, and rounds as Pillow does: no sum of its floats is near the middle of two
 * bytes, which no 13th part of an integer is. */
LOOP void smooth(uint8_t *restrict out, const uint8_t *const rows[3], size_t step, size_t bytes)
{
    const uint32_t part = (1u << 19) / 13 + 1; /* divides all sums by 13 exactly */
    for (size_t at = 0; at < bytes; at += SOME) {
        size_t some = bytes - at < SOME ? bytes - at : SOME;
        const uint8_t *below = rows[2] + at - step, *same = rows[1] + at - step;
        const uint8_t *above = rows[0] + at - step;
        uint16_t columns[SOME + 2 * STEP];
        for (size_t i = 0; i < some + 2 * step; i++) {
            columns[i] = (uint16_t)(below[i] + same[i] + above[i]);
        }
        for (size_t i = 0; i < some; i++) {
            uint16_t sum = (uint16_t)(columns[i] + columns[i + step] + columns[i + 2 * step] +
                                      4 * same[i + step]);
            uint16_t high = (uint16_t)((uint16_t)(sum + 13 / 2) * part >> 16);
            out[at + i] = (uint8_t)(high >> (19 - 16));
        }
    }
}

LOOP void slide_box(uint8_t *restrict out, uint16_t *restrict sums, const uint8_t *restrict leaving,
                    const uint8_t *restrict entering, const uint8_t *restrict next,
                    struct stk_box_weights weights, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint32_t sum = (uint32_t)sums[i] + entering[i] - leaving[i];
        uint32_t ends = (uint32_t)leaving[i] + next[i];
        sums[i] = (uint16_t)sum;
        out[i] = (uint8_t)((sum * weights.inner + ends * weights.outer + (1u << 23)) >> 24);
    }
}

/* ---- planes ---- */

/* Three pointers, since a compiler makes no vectors if it has to prove that the planes are apart.
 */
#define SPLIT(name, number)                                                                        \
    LOOP void name(number *restrict out, const number *restrict in, size_t count)                  \
    {                                                                                              \
        number *restrict second = out + count, *restrict third = second + count;                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i] = in[3 * i];                                                                    \
            second[i] = in[3 * i + 1];                                                             \
            third[i] = in[3 * i + 2];                                                              \
        }                                                                                          \
    }

SPLIT(split_bytes, uint8_t)
SPLIT(split_words, uint32_t)

#define OPERATIONS                                                                                 \
    {                                                                                              \
        .blend = blend, .to_grey = to_grey, .from_grey = from_grey, .to_hsv = to_hsv,              \
        .from_hsv = from_hsv, .from_colour = from_colour, .from_own_grey = from_own_grey,          \
        .turn_hue = turn_hue, .sum_greys = sum_greys, .look_up = LOOK_UP,                          \
        .look_up_grey = look_up_grey, .weigh_nine = weigh_nine, .smooth = smooth,                  \
        .slide_box = SLIDE_BOX, .warp = WARP, .split_bytes = split_bytes,                          \
        .split_words = split_words,                                                                \
    }
