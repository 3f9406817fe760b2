/*
 * Coefficients to samples by our own inverse DCT, four blocks at a time, where they do not come
 * from libjpeg: instead of its coefficient controller's function, which would ask for MCU after
 * MCU.
 */
#ifndef STK_DECODE_UNITS_H
#define STK_DECODE_UNITS_H

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jpegint.h>

#include "decode/kernels/kernels.h"

/* MCUs that are taken together: so many that each row of blocks is one of whole fours. */
#define STK_UNITS_TOGETHER 4

/* Who has the coefficients: it knows where it is. Errors are libjpeg's. */
struct stk_producer {
    /* The blocks of up to STK_UNITS_TOGETHER MCUs that come next, to their seats. */
    void (*take)(j_decompress_ptr cinfo, struct stk_blocks *fours, const struct stk_seat *seats,
                 unsigned mcus);
    /* Leaves out so many. */
    void (*skip)(j_decompress_ptr cinfo, unsigned mcus);
};

/* A row of blocks of a component, in each MCU. */
struct stk_unit_row {
    uint8_t component; /* of the scan */
    uint8_t number;    /* from above */
    uint8_t width;     /* blocks */
    uint8_t four;      /* the first of as many fours, of MCUs that are taken together */
};

struct stk_units {
    struct jpeg_inverse_dct pub; /* first: libjpeg knows only this */
    const struct stk_producer *producer;
    const struct stk_kernels *kernels;
    uint32_t columns, first_column, end_column; /* of MCUs: of a row, and which ones are wanted */
    unsigned row_count;
    struct stk_unit_row rows[STK_MCU_BLOCKS];
    struct stk_seat seats[STK_UNITS_TOGETHER * STK_MCU_BLOCKS];
};

/*
 * Behind jpeg_crop_scanline, of a file whose only scan the producer has. `units` must stay until
 * the image is done. Where there is no kernel, or it would not be libjpeg's method, all stays as it
 * is.
 */
void stk_units_start(struct stk_units *units, const struct stk_producer *producer,
                     const struct stk_kernels *kernels, struct jpeg_decompress_struct *cinfo);

#endif
