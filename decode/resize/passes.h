/*
 * The passes of a resize, row by row. They take only the needed rows and columns from the source,
 * and keep only as many rows as one output row needs. So the work stays in the processor's cache.
 */
#pragma once

#include "decode/common/workspace.h"
#include "decode/resize/emit.h"
#include "decode/resize/floats.h"
#include "decode/resize/geometry.h"
#include "decode/resize/rows.h"

struct stk_passes {
    const struct stk_geometry *geometry;
    const struct stk_kernels *kernels;
    struct stk_axis_taps x, y;
    struct stk_region region;   /* the part of the source that is needed */
    size_t slack;               /* pixels behind a source row that may be read */
    bool takes_three;           /* the rows of an image may have three bytes a pixel */
    uint8_t *ring;              /* the last rows, after the horizontal pass if it comes first */
    size_t ring_stride, taken;  /* bytes of a row; rows that went in */
    uint32_t ring_rows, middle; /* rows of the ring; pixels of a row between the passes */
    uint8_t *lines[STK_ROWS_TOGETHER];   /* the last results of the passes, */
    uint8_t *weighed[STK_ROWS_TOGETHER]; /* and of the vertical one if it comes first */
    const uint8_t **pointers;            /* to rows of the ring */
    struct stk_floats floats; /* a resize by floats has nothing of these but the region */
};

/* Computes the taps, the region and the slack. Geometry and kernels must be set. */
int stk_passes_make_taps(struct stk_passes *passes, struct stk_workspace *workspace);
/* Computes the taps, and gets the memory to run. */
int stk_passes_prepare(struct stk_passes *passes, struct stk_workspace *workspace,
                       const struct stk_geometry *geometry);
int stk_passes_run(struct stk_passes *passes, struct stk_rows *rows, const struct stk_emit *emit);

/* Returns the groups of four weights of an output row of so many: most rows have fewer than the
 * longest. */
static inline uint32_t stk_passes_groups(uint32_t length)
{
    return length > 4 ? (length + 3) / 4 : 1;
}
