/* Runs the passes; see the header. */
#include "decode/resize/passes.h"

#include <string.h>

static size_t stride_of(size_t pixels)
{
    return ((pixels + 15) & ~(size_t)15) * 4 + STK_ROW_SLACK;
}

int stk_passes_make_taps(struct stk_passes *passes, struct stk_workspace *workspace)
{
    const struct stk_geometry *geometry = passes->geometry;
    struct stk_region *region = &passes->region;
    int result = STK_DECODE_OK;
    *region = geometry->crop;
    if (geometry->pass_x) {
        result = stk_taps_make(workspace, STK_SCRATCH_TAPS_X, workspace->kernels->block,
                               &geometry->x, &passes->x);
        region->left += passes->x.origin;
        region->width = passes->x.used;
        passes->slack = 4 * (size_t)passes->x.taps.groups;
    }
    if (geometry->pass_y && !result) {
        result = stk_taps_make(workspace, STK_SCRATCH_TAPS_Y, 1, &geometry->y, &passes->y);
        region->top += passes->y.origin;
        region->height = passes->y.used;
    }
    return result;
}

/* The rows between the passes, and a line for the result of each. */
static int make_rows(struct stk_passes *passes, struct stk_workspace *workspace)
{
    const struct stk_geometry *geometry = passes->geometry;
    uint32_t out = geometry->pass_x ? geometry->x.outputs : passes->region.width;
    size_t wide = out > passes->region.width ? out : passes->region.width;
    size_t line = stride_of(wide + passes->slack);
    bool narrow = geometry->pass_x && !geometry->vertical_first;
    passes->middle = narrow ? out : passes->region.width;
    passes->ring_rows = geometry->pass_y ? passes->y.longest : 1;
    passes->ring_stride = stride_of(passes->middle + (narrow ? 0 : passes->slack));
    passes->ring =
        stk_workspace_get(workspace, STK_SCRATCH_RING, passes->ring_stride * passes->ring_rows);
    passes->lines[0] = stk_workspace_get(workspace, STK_SCRATCH_LINES, 2 * line);
    passes->pointers = stk_workspace_get(workspace, STK_SCRATCH_POINTERS,
                                         ((size_t)passes->ring_rows + 4) * sizeof(uint8_t *));
    if (!passes->ring || !passes->lines[0] || !passes->pointers) {
        return STK_DECODE_MEMORY;
    }
    passes->lines[1] = passes->lines[0] + line;
    return STK_DECODE_OK;
}

int stk_passes_prepare(struct stk_passes *passes, struct stk_workspace *workspace,
                       const struct stk_geometry *geometry)
{
    *passes = (struct stk_passes){.geometry = geometry, .kernels = workspace->kernels};
    int result = stk_passes_make_taps(passes, workspace);
    return result ? result : make_rows(passes, workspace);
}

static uint8_t *ring_row(const struct stk_passes *passes, size_t number)
{
    return passes->ring + number % passes->ring_rows * passes->ring_stride;
}

/* Takes the source's next row into the ring. */
static int take_row(struct stk_passes *passes, struct stk_rows *rows)
{
    const uint8_t *row;
    int result = stk_rows_next(rows, &row);
    if (result) {
        return result;
    }
    uint8_t *slot = ring_row(passes, passes->taken++);
    if (passes->geometry->pass_x && !passes->geometry->vertical_first) {
        passes->kernels->horizontal(slot, row, &passes->x.taps);
    } else {
        memcpy(slot, row, 4 * (size_t)passes->middle);
    }
    return STK_DECODE_OK;
}

/* The output row y, from rows that are all in the ring: those that pad the last group, too. */
static void weigh_rows(const struct stk_passes *passes, uint32_t y, uint8_t *line)
{
    const struct stk_taps *taps = &passes->y.taps;
    uint32_t length = passes->y.lengths[y], groups = stk_passes_groups(length);
    for (uint32_t i = 0; i < 4 * groups; i++) {
        uint32_t row = taps->first[y] + (i < length ? i : length ? length - 1 : 0);
        passes->pointers[i] = ring_row(passes, row);
    }
    passes->kernels->vertical(line, passes->pointers, taps->weights + (size_t)y * taps->groups,
                              groups, passes->middle);
}

static int make_weighed(struct stk_passes *passes, struct stk_rows *rows, uint32_t y,
                        const uint8_t **line)
{
    size_t end = passes->y.taps.first[y] + (size_t)passes->y.lengths[y];
    while (passes->taken < end) {
        int result = take_row(passes, rows);
        if (result) {
            return result;
        }
    }
    weigh_rows(passes, y, passes->lines[0]);
    *line = passes->lines[0];
    if (passes->geometry->pass_x && passes->geometry->vertical_first) {
        passes->kernels->horizontal(passes->lines[1], passes->lines[0], &passes->x.taps);
        *line = passes->lines[1];
    }
    return STK_DECODE_OK;
}

/* Without a vertical pass: a row in, a row out. */
static int make_plain(struct stk_passes *passes, struct stk_rows *rows, const uint8_t **line)
{
    int result = stk_rows_next(rows, line);
    if (!result && passes->geometry->pass_x) {
        passes->kernels->horizontal(passes->lines[0], *line, &passes->x.taps);
        *line = passes->lines[0];
    }
    return result;
}

int stk_passes_run(struct stk_passes *passes, struct stk_rows *rows, const struct stk_emit *emit)
{
    int result = STK_DECODE_OK;
    for (uint32_t y = 0; y < emit->height && !result; y++) {
        const uint8_t *line = NULL;
        result = passes->geometry->pass_y ? make_weighed(passes, rows, y, &line)
                                          : make_plain(passes, rows, &line);
        if (!result) {
            stk_emit_line(emit, line, y);
        }
    }
    return result;
}
