/*
 * Makes samples of coefficients by our own inverse DCT, four blocks at a time, if the coefficients
 * do not come from libjpeg. It takes the place of a function of libjpeg's coefficient controller,
 * which would ask for MCU after MCU.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jpegint.h>

#include "decode/kernels/kernels.h"

/* MCUs that are taken together, so that each row of blocks consists of whole quads. */
#define STK_UNITS_TOGETHER 4

/* A producer of coefficients, which knows its own place in the image. Errors are libjpeg's. */
struct stk_producer {
    /* Puts the blocks of the next MCUs, up to STK_UNITS_TOGETHER, in their slots. */
    void (*take)(j_decompress_ptr cinfo, struct stk_quad *quads,
                 const struct stk_block_slot *block_slots, unsigned mcus);
    /* Skips so many MCUs. */
    void (*skip)(j_decompress_ptr cinfo, unsigned mcus);
};

/* A row of blocks of a component, in each MCU. */
struct stk_unit_row {
    uint8_t component; /* of the scan */
    uint8_t number;    /* from above */
    uint8_t width;     /* blocks */
    uint8_t quad;      /* the first of its quads, over the MCUs that are taken together */
};

struct stk_units {
    struct jpeg_inverse_dct pub; /* first: libjpeg knows only this */
    const struct stk_producer *producer;
    const struct stk_kernels *kernels;
    uint32_t columns, first_column, end_column; /* MCUs of a row, and the wanted ones */
    unsigned row_count;
    struct stk_unit_row rows[STK_MCU_BLOCKS];
    struct stk_block_slot block_slots[STK_UNITS_TOGETHER * STK_MCU_BLOCKS];
};

/*
 * Puts itself in libjpeg's place. Call it after jpeg_crop_scanline, for a file whose only scan the
 * producer has. `units` must stay until the image is done. If there is no kernel, or the kernel's
 * method is not the one that libjpeg would use, libjpeg's stage stays.
 */
void stk_units_start(struct stk_units *units, const struct stk_producer *producer,
                     const struct stk_kernels *kernels, struct jpeg_decompress_struct *cinfo);
