/* A plan's table of floats as kernels take it, made once for many images. */
#pragma once

#include "decode/common/workspace.h"
#include "decode/kernels/kernels.h"

/*
 * Makes the tables of 3 x 256 floats, or finds those of the last call, if the floats are the same.
 * Returns NULL if there is no memory. The result is valid until the next call for the workspace.
 */
const struct stk_tables *stk_tables_get(struct stk_workspace *workspace, const float *floats);
