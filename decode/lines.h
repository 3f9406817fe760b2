/*
 * Upsampling and colours of our own, in one step: takes the place of libjpeg's postprocessing,
 * which is these two. It wants the sample rows that libjpeg's main controller hands to it, and
 * keeps no rows in between.
 */
#ifndef STK_DECODE_LINES_H
#define STK_DECODE_LINES_H

#include "decode/units.h" /* and jpegint.h, which may be included only once */

struct stk_lines {
    struct jpeg_d_post_controller pub; /* first: libjpeg knows only this */
    void (*convert)(j_decompress_ptr, JSAMPIMAGE, JDIMENSION, JSAMPARRAY, int);
    stk_colour *colour;
    struct stk_line line; /* what all lines have in common */
    JDIMENSION luma_rows; /* in a group of rows */
    JDIMENSION rows;      /* of chroma in it: as many, or half as many */
};

/*
 * Behind jpeg_start_decompress and jpeg_crop_scanline, before any line is read or skipped. `lines`
 * must stay until the image is done. Images of other kinds than those that are known here, and all
 * where there is no kernel, stay libjpeg's.
 */
void stk_lines_start(struct stk_lines *lines, const struct stk_kernels *kernels,
                     struct jpeg_decompress_struct *cinfo);

#endif
