/* The kernels in plain C: the reference for all others. */
#include "decode/kernels/kernels.h"

#include <string.h>

#define HALF  (1u << (STK_WEIGHT_BITS - 1))
#define CHUNK 256
#define STRIP ((size_t)64) /* bytes: 16 pixels, to which lines are padded */

/* Rounded, and cut to a byte. The sum wraps as the reference's does on every machine in use. */
static uint8_t byte_of(uint32_t sum)
{
    int32_t value = (int32_t)sum >> STK_WEIGHT_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/*
 * Two samples in one word of 64 bits, so that one multiplication makes two products. The lower sum
 * may be negative: then it has borrowed from the upper one.
 */
static uint64_t two_samples(uint32_t pixel)
{
    return (pixel & 0xff) | (uint64_t)(pixel & 0xff0000) << 16;
}

static uint32_t lower(uint64_t sums)
{
    return (uint32_t)sums;
}

static uint32_t upper(uint64_t sums)
{
    return (uint32_t)((sums - (uint64_t)(int64_t)(int32_t)sums) >> 32);
}

/* A pixel is loaded in one piece: reading its bytes one by one takes half as long again. */
static uint32_t pixel_at(const uint8_t *line, size_t p)
{
    uint32_t pixel;
    memcpy(&pixel, line + 4 * p, sizeof pixel);
    return pixel;
}

static void weigh(uint8_t out[4], const uint8_t *pixels, const int32_t *weights, uint32_t count)
{
    uint64_t even = HALF | (uint64_t)HALF << 32, odd = even;
    for (uint32_t t = 0; t < count; t++) {
        uint32_t pixel = pixel_at(pixels, t);
        even += two_samples(pixel) * (uint64_t)weights[t];
        odd += two_samples(pixel >> 8) * (uint64_t)weights[t];
    }
    out[0] = byte_of(lower(even));
    out[1] = byte_of(lower(odd));
    out[2] = byte_of(upper(even));
    out[3] = byte_of(upper(odd));
}

static void horizontal_row(uint8_t *out, const uint8_t *in, const struct stk_taps *taps)
{
    uint32_t count = 4 * (taps->groups - 1) + taps->last;
    for (size_t o = 0; o < taps->outputs; o++) {
        weigh(out + 4 * o, in + 4 * (size_t)taps->first[o], taps->weights[o * taps->groups].word,
              count);
    }
}

static void horizontal(uint8_t *const *out, const uint8_t *const *in, const struct stk_taps *taps)
{
    for (unsigned row = 0; row < STK_ROWS_TOGETHER; row++) {
        horizontal_row(out[row], in[row], taps);
    }
}

static void add_row(uint32_t sums[STRIP], const uint8_t *row, int32_t weight)
{
    for (size_t i = 0; i < STRIP; i++) {
        sums[i] += row[i] * (uint32_t)weight;
    }
}

/* A strip of bytes at a time, whose sums stay in the cache. */
static void vertical(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                     uint32_t groups, size_t pixels)
{
    for (size_t at = 0; at < 4 * pixels; at += STRIP) {
        uint32_t sums[STRIP];
        for (size_t i = 0; i < STRIP; i++) {
            sums[i] = HALF;
        }
        for (size_t t = 0; t < 4 * (size_t)groups; t++) {
            if (weights[t / 4].word[t % 4]) {
                add_row(sums, rows[t] + at, weights[t / 4].word[t % 4]);
            }
        }
        for (size_t i = 0; i < STRIP; i++) {
            out[at + i] = byte_of(sums[i]);
        }
    }
}

/* Pixels are loaded with the first byte of the next one, but for the last. */
void stk_plain_widen(uint8_t *out, const uint8_t *in, size_t pixels)
{
    static const uint8_t last[4] = {0, 0, 0, 255};
    uint32_t fourth, pixel;
    memcpy(&fourth, last, sizeof fourth);
    for (size_t p = 0; p + 1 < pixels; p++) {
        memcpy(&pixel, in + 3 * p, sizeof pixel);
        pixel |= fourth;
        memcpy(out + 4 * p, &pixel, sizeof pixel);
    }
    memcpy(out + 4 * (pixels - 1), in + 3 * (pixels - 1), 3);
    out[4 * pixels - 1] = 255;
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

void stk_plain_float_rgb(float *out, const uint8_t *line, size_t pixels,
                         const struct stk_tables *tables)
{
    const float *table = tables->floats;
    for (size_t p = 0; p < pixels; p++) {
        uint32_t pixel = pixel_at(line, p);
        out[3 * p] = table[pixel & 0xff];
        out[3 * p + 1] = table[256 + (pixel >> 8 & 0xff)];
        out[3 * p + 2] = table[512 + (pixel >> 16 & 0xff)];
    }
}

void stk_plain_float_planes(float *const out[3], const uint8_t *line, size_t pixels,
                            const struct stk_tables *tables)
{
    const float *table = tables->floats;
    float *red = out[0], *green = out[1], *blue = out[2];
    for (size_t p = 0; p < pixels; p++) {
        uint32_t pixel = pixel_at(line, p);
        red[p] = table[pixel & 0xff];
        green[p] = table[256 + (pixel >> 8 & 0xff)];
        blue[p] = table[512 + (pixel >> 16 & 0xff)];
    }
}

/* Compilers look at many of these bytes at once. */
static bool has_mark(const uint8_t bytes[CHUNK + 1])
{
    uint8_t found = 0;
    for (size_t i = 0; i < CHUNK; i++) {
        found |= (uint8_t)(bytes[i] == 0xff) & (uint8_t)(bytes[i + 1] != 0);
    }
    return found != 0;
}

const uint8_t *stk_plain_skip(const uint8_t *at, const uint8_t *end)
{
    while (end - at > CHUNK && !has_mark(at)) {
        at += CHUNK;
    }
    return at;
}

const struct stk_kernels stk_kernels_c = {
    .name = "c",
    .horizontal = horizontal,
    .vertical = vertical,
    .float_columns = stk_plain_float_columns,
    .float_rows = stk_plain_float_rows,
    .widen = stk_plain_widen,
    .rgb = stk_plain_rgb,
    .planes = stk_plain_planes,
    .float_rgb = stk_plain_float_rgb,
    .float_planes = stk_plain_float_planes,
    .lockstep = stk_plain_lockstep,
    .expand = stk_plain_expand,
    .pass = stk_plain_pass,
    .skip = stk_plain_skip,
    .form = &stk_form_plain,
};
