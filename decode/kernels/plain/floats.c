/* The passes of a resize by floats. */
#include <math.h>

#include "decode/kernels/kernels.h"

/* Returns the sum of `count` inputs, of which each next one stands `step` floats further. */
static float sum_of(const float *in, size_t step, const float *weights, uint32_t count)
{
    float sum = in[0] * weights[0];
    uint32_t i = 1;
    for (; i + 4 <= count; i += 4) {
        for (uint32_t k = i; k < i + 4; k++) {
            sum += in[k * step] * weights[k];
        }
    }
    for (; i < count; i++) {
        sum = fmaf(in[i * step], weights[i], sum);
    }
    return sum;
}

void stk_plain_float_columns(float *const out[], const uint8_t *const *in, size_t pixels,
                             float *aside, const struct stk_float_taps *taps)
{
    for (size_t row = 0; row < STK_ROWS_TOGETHER; row++) {
        for (size_t i = 0; i < 4 * pixels; i++) {
            aside[i] = in[row][i];
        }
        for (size_t i = 0; i < 4 * (size_t)taps->outputs; i++) {
            size_t o = i / 4;
            out[row][i] = sum_of(aside + 4 * (size_t)taps->first[o] + i % 4, 4,
                                 taps->weights + o * taps->longest, taps->lengths[o]);
        }
    }
}

/* Returns the sum of one column of the rows. */
static float sum_at(const float *const *rows, size_t at, const float *weights, uint32_t count)
{
    float sum = rows[0][at] * weights[0];
    uint32_t i = 1;
    for (; i + 4 <= count; i += 4) {
        for (uint32_t k = i; k < i + 4; k++) {
            sum += rows[k][at] * weights[k];
        }
    }
    for (; i < count; i++) {
        sum = fmaf(rows[i][at], weights[i], sum);
    }
    return sum;
}

void stk_plain_float_rows(uint8_t *out, const float *const *rows, const float *weights,
                          uint32_t count, size_t pixels)
{
    for (size_t at = 0; at < 4 * pixels; at++) {
        out[at] = (uint8_t)rintf(sum_at(rows, at, weights, count));
    }
}
