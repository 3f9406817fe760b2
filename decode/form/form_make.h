/*
 * Makes forms of the parser's coefficients, or of the coefficients that libjpeg has collected from
 * the scans of a file with several of them.
 */
#pragma once

#include <stdio.h>

#include <jpeglib.h>

#include "decode/form/pack.h"

/*
 * Makes a form of the parser's coefficients, which must be all of the image. The caller sets
 * view->source. Rows and columns of MCUs are libjpeg's. Returns false if there is no form.
 */
bool stk_make_of_scan(struct stk_packer *packer, struct stk_form_view *view,
                      const struct stk_coefficients *coefficients,
                      const struct jpeg_decompress_struct *cinfo, struct stk_form *out);

/* Makes a form of libjpeg's coefficients. Call it after jpeg_start_decompress, for a complete file.
 * Errors are libjpeg's. */
bool stk_make_of_arrays(struct stk_packer *packer, struct stk_form_view *view,
                        struct jpeg_decompress_struct *cinfo, struct stk_form *out);

/* ---- between the files of making ---- */

/* Returns the rows of MCUs in a group of a file with so many components. */
uint32_t stk_make_group_rows(int components);

/* A header for libjpeg: for one sequential scan of all components. */
struct stk_setup {
    uint8_t bytes[1024];
    size_t used;
};
void stk_setup_make(struct stk_setup *setup, const struct jpeg_decompress_struct *cinfo);
