/*
 * The inner loops of resizing and laying out, in one table for each kind of processor.
 *
 * All pixels here are four bytes (red, green, blue, and one more). All kinds give equal bytes. A
 * weight has 22 fractional bits and lies below 2 in magnitude; sums are of 32 bits and wrap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/common/coefficients.h"
#include "decode/huffman/cursor.h"
#include "decode/kernels/planes.h"

#define STK_WEIGHT_BITS 22

/* So many bytes behind the last pixel of a row may be read, and of a line written. */
#define STK_ROW_SLACK 64
/* Rows that go through the horizontal pass together, and outputs that are written together. */
#define STK_ROWS_TOGETHER 4

/* Four weights, as the kernels of one table want them. */
struct stk_weights {
    _Alignas(16) int32_t word[4];
};

/*
 * The weights of one axis: `outputs` positions, each made of up to 4 x `groups` neighbouring inputs
 * from `first` on. The group g of output o stands at weights[o * groups + g]. Weights that pad a
 * group are zero, but their inputs are read. Outputs are padded to STK_ROWS_TOGETHER by some whose
 * weights are all zero.
 */
struct stk_taps {
    uint32_t outputs, groups;
    uint32_t last; /* weights of the last group that are not all padding: 1 to 4 */
    uint32_t
        bits; /* of the fraction of weights that fit 16 bits, in pack_short()'s order; else 0 */
    const uint32_t *first;
    const struct stk_weights *weights;
};

/* The weights of one axis of a resize by floats: output o is the sum of lengths[o] inputs from
 * first[o] on, whose weights stand from weights[o * longest] on. */
struct stk_float_taps {
    uint32_t outputs, longest;
    const uint32_t *first, *lengths;
    const float *weights;
};

/* A 255th, as the sum of two floats. */
#define STK_BYTE_RATE ((float)(1.0 / 255.0))
#define STK_BYTE_REST ((float)(1.0 / 255.0 - (double)STK_BYTE_RATE))

/*
 * How a float is computed of a byte x, each step rounded:
 *     y = fma(x, byte_rate, x * byte_rest) - mean
 *     fma(y, rate, y * rest)
 * These are STK_BYTE_RATE and STK_BYTE_REST for quotients by 255, STK_BYTE_RATE and 0 for products
 * with it, and 1 and 0 for the bytes as they are.
 */
struct stk_scaling {
    float mean, rate, rest;
};

/* The result of each byte, for each of three channels. */
struct stk_tables {
    const float *floats; /* 3 x 256 */
    bool is_scaled;      /* `scaling` computes the same floats */
    bool is_share;       /* and all of them are the 255ths alone */
    float byte_rate, byte_rest;
    struct stk_scaling scaling[3];
};

/* The blocks that come next: see decode/common/coefficients.h. */
struct stk_source {
    const uint64_t *masks;
    const int8_t *values; /* of the first of them, */
    const int8_t *all;    /* from which wide values count */
    const struct stk_wide *wide;
    /* Differences of DC, if they are not the first of the values; else NULL. */
    const int16_t *dc;
    unsigned last_dc[STK_SCAN_COMPONENTS];
};

/* A quad: four blocks of a component that stand side by side. Absent blocks have no values. */
struct stk_quad {
    uint64_t masks[4];
    const int8_t *values[4]; /* 72 may be read */
    int16_t dc[4];           /* instead of the first of the values */
    bool has_rest;
    /* The wide parts, to be added to the coefficients: eight rows, each of the four blocks. */
    _Alignas(64) int16_t rest[8][4 * 8];
};

/* The place of a block: its quad, its number in there, its component. */
struct stk_block_slot {
    uint8_t quad, place, component;
};

/* Skips `count` blocks, of which only DC counts. `components` has the component of each. */
typedef void stk_pass(struct stk_source *next, const uint8_t *components, unsigned count);

/* Puts `count` blocks one by one in their slots of `quads`. */
typedef void stk_take(struct stk_source *next, struct stk_quad *quads,
                      const struct stk_block_slot *block_slots, unsigned count);

/*
 * Makes samples of the first `count` of four blocks: column `at` and the following ones of eight
 * rows. `factors` dequantise them, row by row. The result is exactly that of libjpeg-turbo's slow
 * integer method on this processor. Where it would not be, returns false and writes nothing.
 */
typedef bool stk_idct(uint8_t *const *rows, size_t at, unsigned count,
                      const struct stk_quad *blocks, const uint16_t factors[64]);

/* A line of an image in luma and chroma. All may be read up to a multiple of 32 samples. */
struct stk_line {
    const uint8_t *luma, *chroma[2];
    /* If chroma has half the columns: the other line that the filter reads, which may be the same
     * one; the samples of each, else 0; the rounding of even and odd pixels. */
    const uint8_t *other[2];
    size_t samples;
    int16_t round[2];
    size_t pixels;
    unsigned bytes;  /* of a pixel: 3, or 4 with 255 in the last */
    bool blue_first; /* if there are 3: blue, green, red */
};

/* Makes the colours of a line, exactly as libjpeg-turbo's fancy upsampling and colours do. */
typedef void stk_colour(uint8_t *out, const struct stk_line *line);

/*
 * Skips a scan's data, in which a 0 follows each 0xff. Returns the first 0xff with another byte
 * behind it, or a place before that or before the end. It reads one byte behind each that it skips.
 */
typedef const uint8_t *stk_skip(const uint8_t *at, const uint8_t *end);

struct stk_kernels {
    const char *name;
    /* Converts plain weights to this table's order; up to four more may be read and written. NULL:
     * that is the plain one. */
    void (*pack)(struct stk_weights *weights, size_t count);
    /*
     * Makes STK_ROWS_TOGETHER rows, which share what it costs to load a weight. Each `out` gets
     * taps->outputs pixels (padded to STK_ROWS_TOGETHER), each `in` starts at input 0. A row may
     * be there several times, as an input and as an output.
     */
    void (*horizontal)(uint8_t *const *out, const uint8_t *const *in, const struct stk_taps *taps);
    /* Makes a row of `pixels` (padded to 16) of 4 x `groups` rows. */
    void (*vertical)(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                     uint32_t groups, size_t pixels);
    /* pack, horizontal and vertical for weights of 16 bits, with so many bits of a fraction; NULL:
     * not on this processor. */
    void (*pack_short)(struct stk_weights *weights, size_t count);
    void (*horizontal_short)(uint8_t *const *out, const uint8_t *const *in,
                             const struct stk_taps *taps);
    /* horizontal_short for inputs of three bytes a pixel, with 0 in the last of the outputs'. */
    void (*horizontal_three)(uint8_t *const *out, const uint8_t *const *in,
                             const struct stk_taps *taps);
    void (*vertical_short)(uint8_t *out, const uint8_t *const *rows,
                           const struct stk_weights *weights, uint32_t groups, size_t pixels,
                           uint32_t bits);
    /*
     * The passes of a resize by floats. A sum is that of torch's code for processors with fused
     * multiplications: behind the first product, products and sums of each four inputs are rounded
     * one by one. Those of the last three inputs or fewer are fused.
     *
     * `float_columns` makes STK_ROWS_TOGETHER rows of floats of as many rows of `pixels`. `aside`
     * has room for four floats of each pixel of each row, aligned to 32 bytes. `float_rows` makes a
     * row of `pixels` (padded to 4) of `count` rows of floats. It rounds halves to the even byte.
     */
    void (*float_columns)(float *const out[], const uint8_t *const *in, size_t pixels, float *aside,
                          const struct stk_float_taps *taps);
    void (*float_rows)(uint8_t *out, const float *const *rows, const float *weights, uint32_t count,
                       size_t pixels);
    /* Makes four bytes a pixel of three, with 255 in the last. There is at least one pixel. */
    void (*widen)(uint8_t *out, const uint8_t *in, size_t pixels);
    /* Lay out: three bytes a pixel; three planes of bytes; both as floats. */
    void (*rgb)(uint8_t *out, const uint8_t *line, size_t pixels);
    void (*planes)(uint8_t *const out[3], const uint8_t *line, size_t pixels);
    void (*float_rgb)(float *out, const uint8_t *line, size_t pixels, const struct stk_tables *);
    void (*float_planes)(float *const out[3], const uint8_t *line, size_t pixels,
                         const struct stk_tables *);
    /* Writes planes of floats past the caches; NULL: not on this processor. */
    void (*streamed_planes)(float *const out[3], const uint8_t *line, size_t pixels,
                            const struct stk_tables *);
    /*
     * Entropy decoding: `lockstep` moves cursors (decode/huffman/cursor.h). `expand` writes a block
     * as libjpeg has it, from a mask by zigzag position and its values, of which 72 may be read.
     * The block is all zeros before. Returns the number of values.
     */
    stk_lockstep *lockstep;
    int wide_tables; /* `lockstep` takes entries that are STK_ENTRY_WIDE */
    unsigned (*expand)(int16_t block[64], uint64_t mask, const int8_t *values);
    stk_pass *pass;
    const struct stk_form_kernels *form;
    stk_skip *skip;
    /* Instead of libjpeg's own stages; NULL if those are as good. `take` and `idct` go together. */
    stk_take *take;
    stk_idct *idct;
    stk_colour *colour;
};

/* Returns the best table for this machine, or the one that STOKER_SIMD names. */
const struct stk_kernels *stk_kernels_select(void);

extern const struct stk_kernels stk_kernels_c;
#if defined(__x86_64__)
extern const struct stk_kernels stk_kernels_avx2, stk_kernels_vnni, stk_kernels_avx512;
#elif defined(__aarch64__)
extern const struct stk_kernels stk_kernels_neon;
#endif

/* Functions that are correct on every processor. */
void stk_plain_float_columns(float *const out[], const uint8_t *const *in, size_t pixels,
                             float *aside, const struct stk_float_taps *taps);
void stk_plain_float_rows(uint8_t *out, const float *const *rows, const float *weights,
                          uint32_t count, size_t pixels);
stk_lockstep stk_plain_lockstep;
unsigned stk_plain_expand(int16_t block[64], uint64_t mask, const int8_t *values);
stk_pass stk_plain_pass;
stk_skip stk_plain_skip;
#if defined(__x86_64__)
stk_lockstep stk_bmi2_lockstep, stk_avx512_lockstep;
stk_take stk_bmi2_take;
stk_pass stk_bmi2_pass;
void stk_avx2_pack_short(struct stk_weights *weights, size_t count);
void stk_avx2_horizontal_short(uint8_t *const *out, const uint8_t *const *in,
                               const struct stk_taps *taps);
void stk_avx2_horizontal_three(uint8_t *const *out, const uint8_t *const *in,
                               const struct stk_taps *taps);
void stk_avx2_vertical_short(uint8_t *out, const uint8_t *const *rows,
                             const struct stk_weights *weights, uint32_t groups, size_t pixels,
                             uint32_t bits);
void stk_avx2_widen(uint8_t *out, const uint8_t *in, size_t pixels);
void stk_avx2_float_rgb(float *out, const uint8_t *line, size_t pixels,
                        const struct stk_tables *tables);
void stk_avx2_float_columns(float *const out[], const uint8_t *const *in, size_t pixels,
                            float *aside, const struct stk_float_taps *taps);
void stk_avx2_float_rows(uint8_t *out, const float *const *rows, const float *weights,
                         uint32_t count, size_t pixels);
#endif

/* The plain layouts, which other tables use for the rest of a row. */
void stk_plain_widen(uint8_t *out, const uint8_t *in, size_t pixels);
void stk_plain_rgb(uint8_t *out, const uint8_t *line, size_t pixels);
void stk_plain_planes(uint8_t *const out[3], const uint8_t *line, size_t pixels);
void stk_plain_float_rgb(float *out, const uint8_t *line, size_t pixels,
                         const struct stk_tables *tables);
void stk_plain_float_planes(float *const out[3], const uint8_t *line, size_t pixels,
                            const struct stk_tables *tables);

/* Writes the next block as libjpeg has it. `block` must be all zeros before. */
void stk_source_play(struct stk_source *next, const struct stk_kernels *kernels, int16_t block[64],
                     unsigned component);
