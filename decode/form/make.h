/*
 * Makes forms: of the parser's coefficients, or of those that libjpeg has collected of files that
 * come in several scans.
 */
#ifndef STK_DECODE_FORM_MAKE_H
#define STK_DECODE_FORM_MAKE_H

#include <stdio.h>

#include <jpeglib.h>

#include "decode/form/pack.h"

/*
 * view->source is the caller's. The coefficients are all of the image; rows and columns of MCUs are
 * libjpeg's. False: no form.
 */
bool stk_make_of_scan(struct stk_packer *packer, struct stk_form_view *view,
                      const struct stk_coefficients *coefficients,
                      const struct jpeg_decompress_struct *cinfo, struct stk_form *out);

/* Behind jpeg_start_decompress of a file that is whole. Errors are libjpeg's. */
bool stk_make_of_arrays(struct stk_packer *packer, struct stk_form_view *view,
                        struct jpeg_decompress_struct *cinfo, struct stk_form *out);

/* ---- between the files of making ---- */

/* How many rows of MCUs the groups of such a file have. */
uint32_t stk_make_group_rows(int components);

/* A header for one sequential scan of all components. */
struct stk_setup {
    uint8_t bytes[1024];
    size_t used;
};
void stk_setup_make(struct stk_setup *setup, const struct jpeg_decompress_struct *cinfo);

#endif
