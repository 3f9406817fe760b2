/*
 * The inner loops of Pillow's operations on images in memory, in one table for each kind of
 * processor.
 *
 * A pixel is four bytes (red, green, blue, and one more), or one byte if it is grey. All kinds give
 * equal bytes: sums of floats are rounded step by step, in Pillow's order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the pixels of a warped image come from. */
struct stk_warp {
    const uint8_t *const *rows; /* of the source */
    uint32_t width, height;     /* of the source */
    /* x' = c0 x + c1 y + c2, y' = c3 x + c4 y + c5; both over c6 x + c7 y + 1 */
    double factors[8];
    bool has_perspective; /* c6 and c7 count */
    bool is_bicubic;      /* or else bilinear */
    bool clears;          /* pixels from outside of the source become zeros, or else stay */
};

/* The weights of a box blur, with 24 fractional bits: of a sample in the box, and of the two at its
 * ends. */
struct stk_box_weights {
    uint32_t inner, outer;
};

/*
 * How far a blend goes from one byte to another: `number` times their difference. Where it is
 * proven for all differences, `whole` times the difference and `part` / 2^16 of it, both rounded
 * down, give the same byte.
 */
struct stk_share {
    float number;
    bool is_proven;
    int16_t whole, part;
};

/* Makes row y of a warped image of four-byte pixels. Returns false if a place is no number. */
typedef bool stk_warp_row(uint8_t *out, const struct stk_warp *warp, uint32_t y, size_t count);

struct stk_operations {
    /* Goes from a to b by `share`, which may lie beyond 0 and 1. */
    void (*blend)(uint8_t *out, const uint8_t *a, const uint8_t *b, struct stk_share share,
                  size_t bytes);
    /* Conversions of a row, by `count` of pixels: RGB to grey and back, RGB to HSV and back. */
    void (*to_grey)(uint8_t *out, const uint8_t *in, size_t count);
    void (*from_grey)(uint8_t *out, const uint8_t *in, size_t count);
    void (*to_hsv)(uint8_t *out, const uint8_t *in, size_t count);
    void (*from_hsv)(uint8_t *out, const uint8_t *in, size_t count);
    /* Changes of `count` four-byte pixels where they lie. The first goes from a colour to each by
     * `share`, the second from each one's grey. The hue is turned by parts of 256; the fourth byte
     * becomes 0. */
    void (*from_colour)(uint8_t *pixels, uint32_t colour, struct stk_share share, size_t count);
    void (*from_own_grey)(uint8_t *pixels, struct stk_share share, size_t count);
    void (*turn_hue)(uint8_t *pixels, uint32_t turn, size_t count);
    /* Returns the sum of the greys of four-byte pixels. */
    uint64_t (*sum_greys)(const uint8_t *pixels, size_t count);
    /* Looks up `count` pixels: of four bytes, in three tables of 256 each, with a fourth byte of 0;
     * or grey ones, in one table. */
    void (*look_up)(uint8_t *out, const uint8_t *in, const uint8_t *tables, size_t count);
    void (*look_up_grey)(uint8_t *out, const uint8_t *in, const uint8_t *table, size_t count);
    /*
     * Makes the inner `bytes` of a row by nine weights: those of the row below, of the row itself,
     * of the row above. A neighbour is `step` bytes away. rows[] are these rows, from the first
     * inner byte on.
     */
    void (*weigh_nine)(uint8_t *out, const uint8_t *const rows[3], const float weights[9],
                       size_t step, size_t bytes);
    /* Does the same by five parts of 13 of each byte and one of each neighbour. */
    void (*smooth)(uint8_t *out, const uint8_t *const rows[3], size_t step, size_t bytes);
    /*
     * Moves the sums of a box on by a row, and makes a row of them: `entering` is in the box from
     * now on, `leaving` no longer. `leaving` and `next` are the rows at its ends. The box has at
     * most 128 rows, so that its sums fit into 15 bits.
     */
    void (*slide_box)(uint8_t *out, uint16_t *sums, const uint8_t *leaving, const uint8_t *entering,
                      const uint8_t *next, struct stk_box_weights weights, size_t bytes);
    stk_warp_row *warp;
    /* Writes the three planes of `count` pixels of three numbers, one plane behind the other: of
     * bytes, or of numbers of four bytes. */
    void (*split_bytes)(uint8_t *out, const uint8_t *in, size_t count);
    void (*split_words)(uint32_t *out, const uint32_t *in, size_t count);
};

typedef void stk_look_up_row(uint8_t *out, const uint8_t *in, const uint8_t *tables, size_t count);

stk_warp_row stk_plain_warp;
stk_look_up_row stk_plain_look_up;

/* Returns the best table for this machine, or the one that STOKER_SIMD names. */
const struct stk_operations *stk_operations_select(void);

extern const struct stk_operations stk_operations_plain;
#if defined(__x86_64__)
extern const struct stk_operations stk_operations_avx2, stk_operations_avx512;
stk_warp_row stk_avx2_warp, stk_avx512_warp;
stk_look_up_row stk_avx512_look_up;
#endif
