/* The kernels in plain C: the reference for all others. */
#include "decode/kernels/kernels.h"

#define HALF (1u << (STK_WEIGHT_BITS - 1))

static void pack(struct stk_weights *weights)
{
    (void)weights;
}

/* Rounded, and cut to a byte. The sum wraps as the reference's does on every machine in use. */
static uint8_t byte_of(uint32_t sum)
{
    int32_t value = (int32_t)sum >> STK_WEIGHT_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void add_pixel(uint32_t sum[4], const uint8_t *pixel, int32_t weight)
{
    for (int c = 0; c < 4; c++) {
        sum[c] += pixel[c] * (uint32_t)weight;
    }
}

static void store_pixel(uint8_t *out, const uint32_t sum[4])
{
    for (int c = 0; c < 4; c++) {
        out[c] = byte_of(sum[c]);
    }
}

static void horizontal(uint8_t *out, const uint8_t *in, const struct stk_taps *taps)
{
    for (uint32_t o = 0; o < taps->outputs; o++) {
        const struct stk_weights *weights = taps->weights + (size_t)o * taps->groups;
        const uint8_t *pixel = in + 4 * (size_t)taps->first[o];
        uint32_t sum[4] = {HALF, HALF, HALF, HALF};
        for (uint32_t t = 0; t < 4 * taps->groups; t++) {
            add_pixel(sum, pixel + 4 * (size_t)t, weights[t / 4].word[t % 4]);
        }
        store_pixel(out + 4 * (size_t)o, sum);
    }
}

static void vertical(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                     uint32_t groups, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++) {
        uint32_t sum[4] = {HALF, HALF, HALF, HALF};
        for (uint32_t t = 0; t < 4 * groups; t++) {
            add_pixel(sum, rows[t] + 4 * p, weights[t / 4].word[t % 4]);
        }
        store_pixel(out + 4 * p, sum);
    }
}

void stk_plain_rgb(uint8_t *out, const uint8_t *line, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++) {
        out[3 * p] = line[4 * p];
        out[3 * p + 1] = line[4 * p + 1];
        out[3 * p + 2] = line[4 * p + 2];
    }
}

void stk_plain_planes(uint8_t *const out[3], const uint8_t *line, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++) {
        out[0][p] = line[4 * p];
        out[1][p] = line[4 * p + 1];
        out[2][p] = line[4 * p + 2];
    }
}

void stk_plain_float_rgb(float *out, const uint8_t *line, size_t pixels, const float *table)
{
    for (size_t p = 0; p < pixels; p++) {
        out[3 * p] = table[line[4 * p]];
        out[3 * p + 1] = table[256 + line[4 * p + 1]];
        out[3 * p + 2] = table[512 + line[4 * p + 2]];
    }
}

void stk_plain_float_planes(float *const out[3], const uint8_t *line, size_t pixels,
                            const float *table)
{
    for (size_t p = 0; p < pixels; p++) {
        out[0][p] = table[line[4 * p]];
        out[1][p] = table[256 + line[4 * p + 1]];
        out[2][p] = table[512 + line[4 * p + 2]];
    }
}

const struct stk_kernels stk_kernels_c = {
    .name = "c",
    .block = 1,
    .pack = pack,
    .horizontal = horizontal,
    .vertical = vertical,
    .rgb = stk_plain_rgb,
    .planes = stk_plain_planes,
    .float_rgb = stk_plain_float_rgb,
    .float_planes = stk_plain_float_planes,
};
