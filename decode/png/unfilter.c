#include "decode/png/unfilter.h"

#include <string.h>

#include "decode/png/byte_lanes.h"

enum filter { NONE, SUB, UP, AVERAGE, PAETH };

#define INNER static inline __attribute__((always_inline))

/* ---- pixels of one byte ---- */

static int distance(int a, int b)
{
    return a < b ? b - a : a - b;
}

static uint8_t nearest(int a, int b, int c)
{
    int to_a = distance(b, c), to_b = distance(a, c), to_c = distance(a + b, 2 * c);
    int other = to_b > to_c ? c : b;
    return (uint8_t)(to_a > to_b || to_a > to_c ? other : a);
}

/* Returns what a filter expects of a byte: its left, upper and upper left neighbours are known. */
INNER uint8_t expected(enum filter filter, uint8_t left, uint8_t above, uint8_t before)
{
    switch (filter) {
    case SUB:
        return left;
    case UP:
        return above;
    case AVERAGE:
        return (uint8_t)((left + above) / 2);
    case PAETH:
        return nearest(left, above, before);
    default:
        return 0;
    }
}

INNER void make_bytes(enum filter filter, uint8_t *out, const uint8_t *above, const uint8_t *in,
                      size_t count)
{
    uint8_t left = 0, before = 0;
    for (size_t x = 0; x < count; x++) {
        left = (uint8_t)(in[x] + expected(filter, left, above[x], before));
        before = above[x];
        out[x] = left;
    }
}

/* ---- pixels of three and of four bytes ---- */

INNER uint32_t load(const uint8_t *at)
{
    uint32_t pixel;
    memcpy(&pixel, at, sizeof pixel);
    return pixel;
}

INNER stk_lanes expected_lanes(enum filter filter, stk_lanes left, stk_lanes above,
                               stk_lanes before)
{
    switch (filter) {
    case SUB:
        return left;
    case UP:
        return above;
    case AVERAGE:
        return stk_lanes_mean(left, above);
    case PAETH:
        return stk_lanes_paeth(left, above, before);
    default:
        return stk_lanes_of(0);
    }
}

/* Where the fourth byte is 255 the bits of the next pixel lie in its lane, which touches no other
 * lane. */
INNER void make_pixels(enum filter filter, uint8_t *out, const uint8_t *above, const uint8_t *in,
                       size_t count, size_t step)
{
    const uint8_t four[4] = {0, 0, 0, step == 3 ? 255 : 0};
    uint32_t fourth = load(four);
    stk_lanes left = stk_lanes_of(0), before = left;
    for (size_t x = 0; x < count; x++) {
        stk_lanes up = stk_lanes_of(load(above + 4 * x));
        stk_lanes guess = expected_lanes(filter, left, up, before);
        left = stk_lanes_add(stk_lanes_of(load(in + step * x)), guess);
        before = up;
        uint32_t pixel = stk_lanes_pixel(left) | fourth;
        memcpy(out + 4 * x, &pixel, sizeof pixel);
    }
}

INNER void make(enum filter filter, uint8_t *out, const uint8_t *above, const uint8_t *in,
                size_t pixels, uint32_t pixel_bytes)
{
    if (pixel_bytes == 1) {
        make_bytes(filter, out, above, in, pixels);
    } else if (pixel_bytes == 3) {
        make_pixels(filter, out, above, in, pixels, 3);
    } else {
        make_pixels(filter, out, above, in, pixels, 4);
    }
}

/* Each filter and each size of a pixel gets a loop of its own. */
#define TAKE_BACK(filter)                                                                          \
    case filter:                                                                                   \
        make(filter, out, above, filtered + 1, pixels, pixel_bytes);                               \
        return true

bool stk_unfilter(uint8_t *out, const uint8_t *above, const uint8_t *filtered, size_t pixels,
                  uint32_t pixel_bytes)
{
    switch (filtered[0]) {
        TAKE_BACK(NONE);
        TAKE_BACK(SUB);
        TAKE_BACK(UP);
        TAKE_BACK(AVERAGE);
        TAKE_BACK(PAETH);
    default:
        return false;
    }
}
