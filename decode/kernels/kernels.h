/*
 * The inner loops of resizing and laying out, in one table for each kind of processor.
 *
 * All pixels here are four bytes (red, green, blue, and one more); all kinds give the same bytes. A
 * weight has 22 fractional bits and lies below 2 in magnitude; sums are of 32 bits and wrap.
 */
#ifndef STK_DECODE_KERNELS_KERNELS_H
#define STK_DECODE_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

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
    int needs_bytes; /* of the tables */
    /*
     * Entropy decoding: cursors in lock-step (decode/entropy/cursor.h); the coefficients of a block
     * where libjpeg has them, out of a mask by zigzag position and as many values, of which 72 may
     * be read. The block is all zeros before. Returns how many values there were.
     */
    stk_lockstep *lockstep;
    int wide_tables; /* it takes entries that are STK_ENTRY_WIDE */
    unsigned (*expand)(int16_t block[64], uint64_t mask, const int8_t *values);
    const struct stk_form_kernels *form;
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
#if defined(__x86_64__)
stk_lockstep stk_bmi2_lockstep, stk_avx512_lockstep;
#endif

/* The plain layouts, which other tables use for what is left of a row. */
void stk_plain_rgb(uint8_t *out, const uint8_t *line, size_t pixels);
void stk_plain_planes(uint8_t *const out[3], const uint8_t *line, size_t pixels);
void stk_plain_float_rgb(float *out, const uint8_t *line, size_t pixels,
                         const struct stk_tables *tables);
void stk_plain_float_planes(float *const out[3], const uint8_t *line, size_t pixels,
                            const struct stk_tables *tables);

#endif
