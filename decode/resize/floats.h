/*
 * A resize by floats, as torch makes it of a tensor of bytes that it turns into floats first. The
 * columns of a row are done first. Results of that stay floats, of which as many rows are kept as
 * one output row needs.
 */
#pragma once

#include "decode/common/workspace.h"
#include "decode/resize/emit.h"
#include "decode/resize/taps.h"
#include "decode/resize/geometry.h"
#include "decode/resize/rows.h"

struct stk_floats {
    const struct stk_kernels *kernels;
    struct stk_float_axis_taps x, y;
    float *aside,
        *ring; /* pixels of the source as floats; the last rows behind the columns' pass */
    size_t stride, taken; /* floats of a row of the ring; rows that went in */
    uint32_t ring_rows;
    uint8_t *line;          /* the last result */
    const float **pointers; /* to rows of the ring */
};

/* Computes the taps and the part of the source that is needed, and gets the memory to run. */
int stk_floats_prepare(struct stk_floats *floats, struct stk_workspace *workspace,
                       const struct stk_geometry *geometry, struct stk_region *region);
int stk_floats_run(struct stk_floats *floats, struct stk_rows *rows, const struct stk_emit *emit);
