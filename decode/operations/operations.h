/*
 * Pillow's operations on images in memory, bit for bit.
 *
 * Images are rows of pixels: of one byte, or of four (red, green, blue, and one more). A result and
 * its source must not overlap. All functions keep no state, so any thread may call them, and a
 * child of a fork. Not for signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decode/kernels/operation_kernels.h"

/* The rows of an image, which may lie anywhere. */
struct stk_picture {
    uint8_t *const *rows;
    uint32_t width, height;
    uint32_t pixel_bytes; /* 1 or 4 */
};

enum stk_conversion { STK_TO_GREY, STK_FROM_GREY, STK_TO_HSV, STK_FROM_HSV };

/* Changes of colours, each by a number. The first three go from an image without something to the
 * one that has it, by a share: from black, from the mean of its greys, from its greys. */
enum stk_recolouring_kind { STK_BRIGHTNESS, STK_CONTRAST, STK_SATURATION, STK_HUE };

struct stk_recolouring {
    enum stk_recolouring_kind kind;
    float number; /* a share, or a turn of the hue: an integer from 0 to 255 */
};

/* Goes from a to b by `share`. All have one size. */
void stk_blend(const struct stk_picture *out, const struct stk_picture *a,
               const struct stk_picture *b, float share);
/* Converts. Both have one size, and the bytes that the conversion says. */
void stk_convert(const struct stk_picture *out, const struct stk_picture *in,
                 enum stk_conversion kind);
/* Makes changes one after the other, of four-byte pixels. The result may be its source. */
void stk_recolour(const struct stk_picture *out, const struct stk_picture *in,
                  const struct stk_recolouring *changes, unsigned count);

#define STK_TABLE_VALUES 256

/* Tables say what each value of a band becomes. Grey images have the first band, others the first
 * three; their fourth byte becomes 0. */
struct stk_value_tables {
    uint8_t band[4][STK_TABLE_VALUES];
};

/* Pillow's tables of an image: its values from 0 to 255, or each of them about as often. */
enum stk_table_kind { STK_SPREAD, STK_EVEN };

void stk_look_up(const struct stk_picture *out, const struct stk_picture *in,
                 const struct stk_value_tables *tables);
void stk_find_tables(struct stk_value_tables *out, const struct stk_picture *in,
                     enum stk_table_kind kind);

/* Weighs the pixels around each, except for those at the edges, which are copied. The weights are
 * those of the row below, of the row itself, of the row above. */
void stk_weigh_nine(const struct stk_picture *out, const struct stk_picture *in,
                    const float weights[9]);
/* Warps four-byte pixels by stk_warp's factors; its rows and size are set here. Returns false if
 * a place is no number; the result then holds anything. */
bool stk_warp_image(const struct stk_picture *out, const struct stk_picture *in,
                    struct stk_warp warp);

/* The largest radius of a box blur here (slide_box). */
#define STK_BOX_MOST 63.0f
/* Blurs four-byte pixels with boxes of these radii, `passes` times in each direction. Returns 0, or
 * -ENOMEM. */
int stk_box_blur(const struct stk_picture *out, const struct stk_picture *in, const float radius[2],
                 unsigned passes);
/* Writes the three planes of `count` pixels, which have three numbers of one or of four bytes each
 * and lie one behind the other. The planes do as well. */
void stk_split(void *out, const void *pixels, size_t count, unsigned number_bytes);
/* Returns the radius of the box whose passes are like a Gaussian of this standard deviation. */
float stk_box_of_gaussian(float deviation, unsigned passes);
