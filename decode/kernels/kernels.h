/*
 * The inner loops of resizing and laying out, in one table for each kind of processor.
 *
 * All pixels here are four bytes (red, green, blue, and one more); all kinds give the same bytes. A
 * weight has 22 fractional bits and lies below 2 in magnitude; sums are of 32 bits and wrap.
 */
#ifndef STK_DECODE_KERNELS_KERNELS_H
#define STK_DECODE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/entropy/coefficients.h"
#include "decode/entropy/cursor.h"
#include "decode/form/planes.h"

#define STK_WEIGHT_BITS 22

/* Rows may be read, and lines written, so far behind their last pixel. */
#define STK_ROW_SLACK 64

/* Four weights, in the form that the kernels of one table want them. */
struct stk_weights {
    _Alignas(16) int32_t word[4];
};

/*
 * The weights of one axis: `outputs` positions, each made of up to 4 x `groups` neighbouring inputs
 * from `first` on. The group g of output o stands at weights[stk_weights_index(...)]. Weights that
 * pad a group are zero, but what they stand for is read.
 */
struct stk_taps {
    uint32_t outputs, groups;
    uint32_t last;  /* weights of the last group that are not all padding: 1 to 4 */
    uint32_t block; /* outputs whose weights stand together; the last block is padded */
    const uint32_t *first;
    const struct stk_weights *weights;
};

static inline size_t stk_weights_index(const struct stk_taps *taps, size_t output, size_t group)
{
    size_t block = output / taps->block, lane = output % taps->block;
    return (block * taps->groups + group) * taps->block + lane;
}

/* What a byte becomes, for each of three channels: as floats, and those floats byte by byte. */
struct stk_tables {
    const float *floats;                   /* 3 x 256 */
    _Alignas(64) uint8_t bytes[3][4][256]; /* only for kernels that say so */
};

/* The blocks that come next (decode/entropy/coefficients.h). */
struct stk_source {
    const uint64_t *masks;
    const int8_t *values; /* of the first of them, */
    const int8_t *all;    /* from which the wide ones count */
    const struct stk_wide *wide;
    /* Differences of DC, where they are not the first of the values; else NULL. */
    const int16_t *dc;
    unsigned last_dc[STK_SCAN_COMPONENTS];
};

/* Four blocks of a component that stand side by side. Those that are not there have no values. */
struct stk_blocks {
    uint64_t masks[4];
    const int8_t *values[4]; /* 64 may be read */
    int16_t dc[4];           /* instead of the first of the values */
    bool has_rest;
    /* What is to be added to the coefficients: of each of eight rows that of the four blocks. */
    _Alignas(64) int16_t rest[8][4 * 8];
};

/* Where a block goes. */
struct stk_seat {
    uint8_t four, place, component;
};

/* Leaves out `count` blocks, of which only DC counts: each one's component. */
typedef void stk_pass(struct stk_source *next, const uint8_t *components, unsigned count);

/* Takes `count` blocks one by one to their seats among `fours`. */
typedef void stk_take(struct stk_source *next, struct stk_blocks *fours,
                      const struct stk_seat *seats, unsigned count);

/*
 * Samples of the first `count` of four blocks: column `at` and the following ones of eight rows.
 * `factors` dequantise them, row by row. Exactly libjpeg-turbo's slow integer method as it is on
 * this processor; false, and nothing written, where it would not be.
 */
typedef bool stk_idct(uint8_t *const *rows, size_t at, unsigned count,
                      const struct stk_blocks *blocks, const uint16_t factors[64]);

/* A line of an image in luma and chroma. All may be read up to a multiple of 32 samples. */
struct stk_line {
    const uint8_t *luma, *chroma[2];
    /* Where chroma has half the columns: its other line that the filter looks at, which may be the
     * same one; how many samples each has, else 0; what rounds even and odd pixels. */
    const uint8_t *other[2];
    size_t samples;
    int16_t round[2];
    size_t pixels;
    unsigned bytes; /* of a pixel: 3, or 4 with 255 in the last */
};

/* Colours of a line, exactly libjpeg-turbo's fancy upsampling and colours. */
typedef void stk_colour(uint8_t *out, const struct stk_line *line);

/*
 * Over a scan's data, in which every 0xff is followed by 0: up to the first of which that is not
 * true, or somewhere before it or before the end. A byte behind each one that is passed over is
 * read.
 */
typedef const uint8_t *stk_skip(const uint8_t *at, const uint8_t *end);

struct stk_kernels {
    const char *name;
    uint32_t block; /* of horizontal taps; for vertical ones it is 1 */
    /* Brings plain weights into this table's form; up to four more may be read and written. */
    void (*pack)(struct stk_weights *weights, size_t count);
    /* One row: `out` gets taps->outputs pixels (padded to a block), `in` starts at input 0. */
    void (*horizontal)(uint8_t *out, const uint8_t *in, const struct stk_taps *taps);
    /* One row of `pixels` (padded to 16) out of 4 x `groups` rows. */
    void (*vertical)(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                     uint32_t groups, size_t pixels);
    /* Lays out: three bytes a pixel; three planes of bytes; the same as floats. */
    void (*rgb)(uint8_t *out, const uint8_t *line, size_t pixels);
    void (*planes)(uint8_t *const out[3], const uint8_t *line, size_t pixels);
    void (*float_rgb)(float *out, const uint8_t *line, size_t pixels, const struct stk_tables *);
    void (*float_planes)(float *const out[3], const uint8_t *line, size_t pixels,
                         const struct stk_tables *);
    /* The same past the caches; NULL: there is none. */
    void (*streamed_planes)(float *const out[3], const uint8_t *line, size_t pixels,
                            const struct stk_tables *);
    int needs_bytes; /* of the tables */
    /*
     * Entropy decoding: cursors in lock-step (decode/entropy/cursor.h); the coefficients of a block
     * where libjpeg has them, out of a mask by zigzag position and as many values, of which 72 may
     * be read. The block is all zeros before. Returns how many values there were.
     */
    stk_lockstep *lockstep;
    int wide_tables; /* it takes entries that are STK_ENTRY_WIDE */
    unsigned (*expand)(int16_t block[64], uint64_t mask, const int8_t *values);
    stk_pass *pass;
    const struct stk_form_kernels *form;
    stk_skip *skip;
    /* Instead of libjpeg's own stages; NULL where those are as good. The first two go together. */
    stk_take *take;
    stk_idct *idct;
    stk_colour *colour;
};

/* The best table for this machine, or the one that STOKER_SIMD names. */
const struct stk_kernels *stk_kernels_select(void);

extern const struct stk_kernels stk_kernels_c;
#if defined(__x86_64__)
extern const struct stk_kernels stk_kernels_avx2, stk_kernels_avx512;
#elif defined(__aarch64__)
extern const struct stk_kernels stk_kernels_neon;
#endif

/* Whatever the processor: these are correct everywhere. */
stk_lockstep stk_plain_lockstep;
unsigned stk_plain_expand(int16_t block[64], uint64_t mask, const int8_t *values);
stk_pass stk_plain_pass;
stk_skip stk_plain_skip;
#if defined(__x86_64__)
stk_lockstep stk_bmi2_lockstep, stk_avx512_lockstep;
stk_take stk_bmi2_take;
stk_pass stk_bmi2_pass;
#endif

/* The plain layouts, which other tables use for what is left of a row. */
void stk_plain_rgb(uint8_t *out, const uint8_t *line, size_t pixels);
void stk_plain_planes(uint8_t *const out[3], const uint8_t *line, size_t pixels);
void stk_plain_float_rgb(float *out, const uint8_t *line, size_t pixels,
                         const struct stk_tables *tables);
void stk_plain_float_planes(float *const out[3], const uint8_t *line, size_t pixels,
                            const struct stk_tables *tables);

#endif
