/*
 * Upsampling and colours in one step, in the place of libjpeg's postprocessing. It takes the sample
 * rows that libjpeg's main controller hands over, and keeps no rows in between.
 */
#pragma once

#include "decode/stages/units.h" /* and jpegint.h, which may be included only once */

struct stk_lines {
    struct jpeg_d_post_controller pub; /* first: libjpeg knows only this */
    void (*convert)(j_decompress_ptr, JSAMPIMAGE, JDIMENSION, JSAMPARRAY, int);
    stk_colour *colour;
    struct stk_line line; /* the parts that all lines share */
    JDIMENSION luma_rows; /* rows of luma in a group of rows */
    JDIMENSION rows;      /* rows of chroma in a group: as many, or half as many */
};

/*
 * Puts itself in libjpeg's place. Call it after jpeg_start_decompress and jpeg_crop_scanline,
 * before any line is read or skipped. `lines` must stay until the image is done. If there is no
 * kernel or the image is of another kind, libjpeg's stage stays.
 */
void stk_lines_start(struct stk_lines *lines, const struct stk_kernels *kernels,
                     struct jpeg_decompress_struct *cinfo);
