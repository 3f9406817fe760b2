/* Runs the two passes of a resize by floats. */
#include "decode/resize/floats.h"

#define FLOATS 4 /* of a pixel */

static size_t padded(size_t pixels)
{
    return (pixels + 3) & ~(size_t)3;
}

static int make_rows(struct stk_floats *floats, struct stk_workspace *workspace)
{
    size_t aside = STK_ROWS_TOGETHER * FLOATS * (size_t)floats->x.inputs.used;
    size_t line = FLOATS * padded(floats->x.taps.outputs);
    floats->stride = line;
    floats->ring_rows = floats->y.inputs.longest + STK_ROWS_TOGETHER - 1;
    floats->ring =
        stk_workspace_get(workspace, STK_SCRATCH_RING, line * floats->ring_rows * sizeof(float));
    floats->aside = stk_workspace_get(workspace, STK_SCRATCH_LINES,
                                      (aside + line) * sizeof(float) + STK_ROW_SLACK);
    floats->pointers = stk_workspace_get(workspace, STK_SCRATCH_POINTERS,
                                         floats->ring_rows * sizeof(const float *));
    if (!floats->ring || !floats->aside || !floats->pointers) {
        return STK_DECODE_MEMORY;
    }
    floats->line = (uint8_t *)(floats->aside + aside);
    return STK_DECODE_OK;
}

int stk_floats_prepare(struct stk_floats *floats, struct stk_workspace *workspace,
                       const struct stk_geometry *geometry, struct stk_region *region)
{
    floats->kernels = workspace->kernels;
    int result = stk_float_taps_make(workspace, STK_SCRATCH_TAPS_X, &geometry->x, &floats->x);
    result = result ? result
                    : stk_float_taps_make(workspace, STK_SCRATCH_TAPS_Y, &geometry->y, &floats->y);
    if (result) {
        return result;
    }
    *region = (struct stk_region){geometry->crop.left + floats->x.inputs.origin,
                                  geometry->crop.top + floats->y.inputs.origin,
                                  floats->x.inputs.used, floats->y.inputs.used};
    return make_rows(floats, workspace);
}

static float *ring_row(const struct stk_floats *floats, size_t number)
{
    return floats->ring + number % floats->ring_rows * floats->stride;
}

/* Takes the source's next rows into the ring. A row that pads the last group is the last one again.
 */
static int take_rows(struct stk_floats *floats, struct stk_rows *rows)
{
    const uint8_t *in[STK_ROWS_TOGETHER];
    float *out[STK_ROWS_TOGETHER];
    int count = stk_rows_next(rows, in);
    if (count < 0) {
        return count;
    }
    for (int i = 0; i < STK_ROWS_TOGETHER; i++) {
        out[i] = ring_row(floats, floats->taken + (size_t)(i < count ? i : count - 1));
    }
    floats->kernels->float_columns(out, in, floats->x.inputs.used, floats->aside, &floats->x.taps);
    floats->taken += (size_t)count;
    return STK_DECODE_OK;
}

static int make_line(struct stk_floats *floats, struct stk_rows *rows, uint32_t y)
{
    const struct stk_float_taps *taps = &floats->y.taps;
    uint32_t first = taps->first[y], length = taps->lengths[y];
    while (floats->taken < (size_t)first + length) {
        int result = take_rows(floats, rows);
        if (result) {
            return result;
        }
    }
    for (uint32_t i = 0; i < length; i++) {
        floats->pointers[i] = ring_row(floats, (size_t)first + i);
    }
    floats->kernels->float_rows(floats->line, floats->pointers,
                                taps->weights + (size_t)y * taps->longest, length,
                                floats->x.taps.outputs);
    return STK_DECODE_OK;
}

int stk_floats_run(struct stk_floats *floats, struct stk_rows *rows, const struct stk_emit *emit)
{
    int result = STK_DECODE_OK;
    for (uint32_t y = 0; y < emit->height && !result; y++) {
        result = make_line(floats, rows, y);
        if (!result) {
            stk_emit_line(emit, floats->line, y);
        }
    }
    return result;
}
