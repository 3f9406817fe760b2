/*
 * Resizing of images with one byte a pixel. The kernels weigh four bytes at a time: here those are
 * of four rows, for the horizontal pass, and four neighbours for the vertical one, so that nothing
 * is computed in vain.
 */
#ifndef STK_DECODE_GREY_H
#define STK_DECODE_GREY_H

#include "decode/decode.h"
#include "decode/decoder.h"
#include "decode/geometry.h"

/* Whether this is for stk_grey_run(): one channel in, the same out, as bytes, by at least a pass.
 */
bool stk_grey_fits(const struct stk_image *image, const struct stk_plan *plan,
                   const struct stk_geometry *geometry);
int stk_grey_run(struct stk_decoder *decoder, const struct stk_image *image,
                 const struct stk_plan *plan, const struct stk_geometry *geometry,
                 const struct stk_target *target);

#endif
