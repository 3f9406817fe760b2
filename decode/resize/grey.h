/*
 * Resizes images with one byte a pixel. The kernels weigh four bytes at a time. Here these are
 * pixels of four rows in the horizontal pass, and four neighbours in the vertical one, so that
 * nothing is computed in vain.
 */
#pragma once

#include "decode/common/decode_types.h"
#include "decode/common/workspace.h"
#include "decode/resize/geometry.h"

/* Returns true if stk_grey_run() can do it: one channel in, one channel of bytes out, at least one
 * pass. */
bool stk_grey_fits(const struct stk_image *image, const struct stk_plan *plan,
                   const struct stk_geometry *geometry);
int stk_grey_run(struct stk_workspace *workspace, const struct stk_image *image,
                 const struct stk_plan *plan, const struct stk_geometry *geometry,
                 const struct stk_target *target);
