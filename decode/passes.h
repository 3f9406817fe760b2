/*
 * The passes of a resize, row by row. Only the rows and columns that count are taken from the
 * source, and only as many rows are kept as one output row needs; so the work stays in the cache.
 */
#ifndef STK_DECODE_PASSES_H
#define STK_DECODE_PASSES_H

#include "decode/emit.h"
#include "decode/geometry.h"
#include "decode/rows.h"

struct stk_passes {
    const struct stk_geometry *geometry;
    const struct stk_kernels *kernels;
    struct stk_axis_taps x, y;
    struct stk_region region;   /* what is wanted of the source */
    size_t slack;               /* pixels behind a source row that may be read */
    uint8_t *ring;              /* the last rows, after the horizontal pass if that comes first */
    size_t ring_stride, taken;  /* bytes; rows that went in */
    uint32_t ring_rows, middle; /* rows it holds; pixels of a row between the passes */
    uint8_t *lines[2];
    const uint8_t **pointers; /* to rows of the ring */
};

/* Computes the taps, and with them the region and the slack: geometry and kernels must be set. */
int stk_passes_make_taps(struct stk_passes *passes, struct stk_decoder *decoder);
/* The same, and what is needed to run. */
int stk_passes_prepare(struct stk_passes *passes, struct stk_decoder *decoder,
                       const struct stk_geometry *geometry);
int stk_passes_run(struct stk_passes *passes, struct stk_rows *rows, const struct stk_emit *emit);

/* Of four weights, those of one output row: most have fewer than the longest. */
static inline uint32_t stk_passes_groups(uint32_t length)
{
    return length > 4 ? (length + 3) / 4 : 1;
}

#endif
