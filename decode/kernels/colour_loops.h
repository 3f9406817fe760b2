/*
 * The loops of struct stk_operations that change the colours of single pixels: LANES pixels at a
 * time, each in a number of its own. operation_loops.h includes it.
 *
 * All bytes are Pillow's. A hue has one division where Pillow has three, and floats where it has
 * doubles: tests compare all colours.
 */
#pragma once

struct rgb {
    ints red, green, blue;
};

struct hsv {
    ints hue, saturation, value;
};

#ifndef HAS_OWN_CHOICES

/* Returns a value for each lane whose mask is -1, and the other for each whose mask is 0. */
INNER ints either(ints mask, ints value, ints other)
{
    return (value & mask) | (other & ~mask);
}

INNER ints most(ints a, ints b)
{
    return either(a > b, a, b);
}

INNER ints least(ints a, ints b)
{
    return either(a < b, a, b);
}
#endif

INNER struct rgb rgb_of(ints pixels)
{
    return (struct rgb){pixels & 255, pixels >> 8 & 255, pixels >> 16 & 255};
}

INNER ints last_of(ints pixels)
{
    return pixels >> 24 & 255;
}

INNER ints pixels_of(struct rgb colour, ints last)
{
    return colour.red | colour.green << 8 | colour.blue << 16 | last << 24;
}

#ifndef HAS_OWN_GREYS

/* All sums are below 2^8, in parts of 2^-16, so floats hold them exactly. They are faster than
 * products of integers. */
INNER ints greys_of(ints pixels)
{
    const float part = 1.0f / 65536;
    struct rgb colour = rgb_of(pixels);
    return ints_of(floats_of(colour.red) * (19595 * part) +
                   floats_of(colour.green) * (38470 * part) +
                   (floats_of(colour.blue) * (7471 * part) + 0.5f));
}

/* Returns the grey of each pixel in all three bands. The last byte is 255. */
INNER ints grey_pixels_of(ints pixels)
{
    ints grey = greys_of(pixels);
    return pixels_of((struct rgb){grey, grey, grey}, (ints){} + 255);
}
#endif

/* ---- hue ---- */

/* Products of bytes are below 2^24, so floats hold them exactly. They are faster than products of
 * integers. */

/* Returns the hues of colours that span at least 1 from the least to the most band. */
INNER ints hue_of(struct rgb colour, ints value, ints middle, ints span)
{
    ints is_red = colour.red == value, is_green = colour.green == value;
    ints is_back = either(is_red, colour.green < colour.blue,
                          either(is_green, colour.blue < colour.red, colour.red < colour.green));
    ints sixth = ~is_red & either(is_green, (ints){} + 2, (ints){} + 4);
    floats part = floats_of(value - middle) / floats_of(span);
    floats from = floats_of(sixth + 1 + (is_back & -2));
    floats turn = (from + (floats)((ints)part ^ (~is_back & INT32_MIN))) / 6.0f;
    turn += (floats)((turn < 0.0f) & (ints)((floats){} + 1.0f));
    return ints_of(turn * 255.0f);
}

INNER struct hsv hsv_of(struct rgb colour)
{
    ints value = most(colour.red, most(colour.green, colour.blue));
    ints lowest = least(colour.red, least(colour.green, colour.blue));
    ints middle = colour.red + colour.green + colour.blue - value - lowest;
    ints span = value - lowest;
    ints hue = (span != 0) & hue_of(colour, value, middle, most(span, (ints){} + 1));
    ints saturation = ints_of(floats_of(span * 255) / floats_of(most(value, (ints){} + 1)));
    return (struct hsv){hue, saturation, value};
}

/* Subtracts 1 / 21675 of a part, rounded to the nearest byte: none lies in the middle of two. */
INNER ints less_by(ints value, floats part)
{
    return value - ints_of(part * (1.0f / 21675.0f) + 0.5f);
}

INNER struct rgb rgb_of_hsv(struct hsv colour)
{
    ints v = colour.value;
    floats hue = floats_of(colour.hue), strength = floats_of(v) * floats_of(colour.saturation);
    ints sixth = ints_of(hue * (772.0f / 32768)); /* hue * 2 / 85 */
    floats part = 2.0f * hue - 85.0f * floats_of(sixth);
    part = (floats)either(-(sixth & 1), (ints)part, (ints)(85.0f - part));
    sixth &= sixth != 6; /* the last hue is the first one */
    ints low = less_by(v, strength * 85.0f), w = less_by(v, strength * part);
    ints in_1 = sixth == 1, in_2 = sixth == 2, in_3 = sixth == 3, in_4 = sixth == 4;
    ints in_0 = sixth == 0, in_5 = sixth == 5;
    return (struct rgb){
        .red = either(in_0 | in_5, v, either(in_1 | in_4, w, low)),
        .green = either(in_1 | in_2, v, either(in_0 | in_3, w, low)),
        .blue = either(in_3 | in_4, v, either(in_2 | in_5, w, low)),
    };
}

INNER ints to_hsv_of(ints pixels)
{
    struct hsv made = hsv_of(rgb_of(pixels));
    return pixels_of((struct rgb){made.hue, made.saturation, made.value}, last_of(pixels));
}

INNER ints from_hsv_of(ints pixels)
{
    struct rgb bands = rgb_of(pixels);
    struct hsv colour = {bands.red, bands.green, bands.blue};
    return pixels_of(rgb_of_hsv(colour), last_of(pixels));
}

INNER ints turned_of(ints pixels, ints turn)
{
    struct hsv made = hsv_of(rgb_of(pixels));
    made.hue = (made.hue + turn) & 255;
    return pixels_of(rgb_of_hsv(made), (ints){});
}

/* ---- blends ---- */

#ifndef HAS_OWN_BLENDS

INNER ints between(ints a, ints b, float share)
{
    ints value = ints_of(floats_of(a) + share * floats_of(b - a));
    return least(most(value, (ints){}), (ints){} + 255);
}

/* Goes from some pixels to others by `share`, band by band. */
INNER ints blended(ints from, ints to, struct stk_share share)
{
    struct rgb a = rgb_of(from), b = rgb_of(to);
    struct rgb made = {between(a.red, b.red, share.number), between(a.green, b.green, share.number),
                       between(a.blue, b.blue, share.number)};
    return pixels_of(made, between(last_of(from), last_of(to), share.number));
}
#endif

INNER ints from_own_grey_of(ints pixels, struct stk_share share)
{
    return blended(grey_pixels_of(pixels), pixels, share);
}

/* ---- rows ---- */

/* Loads up to LANES pixels of `bytes` in all. The others are 0. */
INNER ints load(const uint8_t *at, size_t bytes)
{
    ints pixels = {};
    memcpy(&pixels, at, bytes < sizeof pixels ? bytes : sizeof pixels);
    return pixels;
}

INNER void store(uint8_t *at, ints pixels, size_t bytes)
{
    memcpy(at, &pixels, bytes < sizeof pixels ? bytes : sizeof pixels);
}

/* Goes through a row: `made` is an expression of `i`, the bytes before, and `some`, those to make.
 */
#define THROUGH(out, bytes, made)                                                                  \
    size_t i = 0, some = sizeof(ints);                                                             \
    for (; i + sizeof(ints) <= (bytes); i += sizeof(ints)) {                                       \
        store((out) + i, made, sizeof(ints));                                                      \
    }                                                                                              \
    some = (bytes)-i;                                                                              \
    if (some > 0) {                                                                                \
        store((out) + i, made, some);                                                              \
    }

LOOP void to_hsv(uint8_t *restrict out, const uint8_t *restrict in, size_t count)
{
    THROUGH(out, 4 * count, to_hsv_of(load(in + i, some)));
}

LOOP void from_hsv(uint8_t *restrict out, const uint8_t *restrict in, size_t count)
{
    THROUGH(out, 4 * count, from_hsv_of(load(in + i, some)));
}

LOOP void turn_hue(uint8_t *row, uint32_t turn, size_t count)
{
    ints by = (ints){} + (int32_t)turn;
    THROUGH(row, 4 * count, turned_of(load(row + i, some), by));
}

LOOP void from_colour(uint8_t *row, uint32_t colour, struct stk_share share, size_t count)
{
    ints from = (ints){} + (int32_t)colour;
    THROUGH(row, 4 * count, blended(from, load(row + i, some), share));
}

LOOP void from_own_grey(uint8_t *row, struct stk_share share, size_t count)
{
    THROUGH(row, 4 * count, from_own_grey_of(load(row + i, some), share));
}

LOOP void blend(uint8_t *restrict out, const uint8_t *restrict a, const uint8_t *restrict b,
                struct stk_share share, size_t bytes)
{
    THROUGH(out, bytes, blended(load(a + i, some), load(b + i, some), share));
}

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

/* Each lane holds the sum of a part of a row, which has at most 2^24 pixels in Pillow. */
LOOP uint64_t sum_greys(const uint8_t *row, size_t count)
{
    ints sums = {};
    uint64_t all = 0;
    size_t i = 0;
    for (; i + sizeof(ints) <= 4 * count; i += sizeof(ints)) {
        sums += greys_of(load(row + i, sizeof(ints)));
    }
    sums += i < 4 * count ? greys_of(load(row + i, 4 * count - i)) : (ints){};
    for (size_t lane = 0; lane < LANES; lane++) {
        all += (uint32_t)sums[lane];
    }
    return all;
}
