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
        result = stk_taps_make(workspace, STK_SCRATCH_TAPS_X, &geometry->x, &passes->x);
        region->left += passes->x.inputs.origin;
        region->width = passes->x.inputs.used;
        passes->slack = 4 * (size_t)passes->x.taps.groups;
        passes->takes_three = !geometry->vertical_first && passes->x.taps.bits > 0 &&
                              passes->kernels->horizontal_three;
    }
    if (geometry->pass_y && !result) {
        result = stk_taps_make(workspace, STK_SCRATCH_TAPS_Y, &geometry->y, &passes->y);
        region->top += passes->y.inputs.origin;
        region->height = passes->y.inputs.used;
    }
    return result;
}

/* The rows between the passes, and lines for the results of each. */
static int make_rows(struct stk_passes *passes, struct stk_workspace *workspace)
{
    const struct stk_geometry *geometry = passes->geometry;
    uint32_t out = geometry->pass_x ? geometry->x.outputs : passes->region.width;
    size_t wide = out > passes->region.width ? out : passes->region.width;
    size_t line = stride_of(wide + passes->slack);
    bool narrow = geometry->pass_x && !geometry->vertical_first;
    passes->middle = narrow ? out : passes->region.width;
    passes->ring_rows = geometry->pass_y ? passes->y.inputs.longest + STK_ROWS_TOGETHER - 1 : 1;
    passes->ring_stride = stride_of(passes->middle + (narrow ? 0 : passes->slack));
    passes->ring =
        stk_workspace_get(workspace, STK_SCRATCH_RING, passes->ring_stride * passes->ring_rows);
    uint8_t *lines =
        stk_workspace_get(workspace, STK_SCRATCH_LINES, (size_t)2 * STK_ROWS_TOGETHER * line);
    passes->pointers = stk_workspace_get(workspace, STK_SCRATCH_POINTERS,
                                         ((size_t)passes->ring_rows + 4) * sizeof(uint8_t *));
    if (!passes->ring || !lines || !passes->pointers) {
        return STK_DECODE_MEMORY;
    }
    for (size_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        passes->lines[i] = lines + 2 * i * line;
        passes->weighed[i] = passes->lines[i] + line;
    }
    return STK_DECODE_OK;
}

int stk_passes_prepare(struct stk_passes *passes, struct stk_workspace *workspace,
                       const struct stk_geometry *geometry)
{
    *passes = (struct stk_passes){.geometry = geometry, .kernels = workspace->kernels};
    if (geometry->by_floats) {
        return stk_floats_prepare(&passes->floats, workspace, geometry, &passes->region);
    }
    int result = stk_passes_make_taps(passes, workspace);
    return result ? result : make_rows(passes, workspace);
}

static uint8_t *ring_row(const struct stk_passes *passes, size_t number)
{
    return passes->ring + number % passes->ring_rows * passes->ring_stride;
}

/* Sends the source's rows, or those of the vertical pass, through the horizontal one. */
static void weigh_columns(const struct stk_passes *passes, const struct stk_rows *rows,
                          uint8_t *const *out, const uint8_t *const *in)
{
    if (rows->bytes == 3) {
        passes->kernels->horizontal_three(out, in, &passes->x.taps);
    } else {
        stk_weigh_columns(passes->kernels, out, in, &passes->x.taps);
    }
}

/* Takes the source's next rows into the ring. */
static int take_rows(struct stk_passes *passes, struct stk_rows *rows)
{
    const uint8_t *in[STK_ROWS_TOGETHER];
    uint8_t *out[STK_ROWS_TOGETHER];
    int count = stk_rows_next(rows, in);
    if (count < 0) {
        return count;
    }
    for (int i = 0; i < STK_ROWS_TOGETHER; i++) {
        out[i] = ring_row(passes, passes->taken);
        passes->taken += i < count - 1;
    }
    passes->taken++;
    if (passes->geometry->pass_x && !passes->geometry->vertical_first) {
        weigh_columns(passes, rows, out, in);
        return STK_DECODE_OK;
    }
    for (int i = 0; i < count; i++) {
        memcpy(out[i], in[i], 4 * (size_t)passes->middle);
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
    stk_weigh_rows(passes->kernels, line, passes->pointers, taps, y, groups, passes->middle);
}

static int make_line(struct stk_passes *passes, struct stk_rows *rows, uint32_t y, uint8_t *line)
{
    size_t end = passes->y.taps.first[y] + (size_t)passes->y.lengths[y];
    while (passes->taken < end) {
        int result = take_rows(passes, rows);
        if (result) {
            return result;
        }
    }
    weigh_rows(passes, y, line);
    return STK_DECODE_OK;
}

/* The lines from y on, the last one repeated. Returns how many there are, or an error. */
static int make_weighed(struct stk_passes *passes, struct stk_rows *rows, uint32_t y,
                        const uint8_t *lines[STK_ROWS_TOGETHER])
{
    uint32_t left = passes->geometry->height - y;
    uint32_t count = left < STK_ROWS_TOGETHER ? left : STK_ROWS_TOGETHER;
    for (uint32_t i = 0; i < count; i++) {
        int result = make_line(passes, rows, y + i, passes->weighed[i]);
        if (result) {
            return result;
        }
    }
    const uint8_t *line = NULL;
    for (uint32_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        line = i < count ? passes->weighed[i] : line;
        lines[i] = line;
    }
    return (int)count;
}

/* The next lines before the last pass, and then through it. Returns how many, or an error. */
static int make_lines(struct stk_passes *passes, struct stk_rows *rows, uint32_t y,
                      const uint8_t *lines[STK_ROWS_TOGETHER])
{
    const struct stk_geometry *geometry = passes->geometry;
    int count =
        geometry->pass_y ? make_weighed(passes, rows, y, lines) : stk_rows_next(rows, lines);
    if (count > 0 && geometry->pass_x && (geometry->vertical_first || !geometry->pass_y)) {
        weigh_columns(passes, rows, passes->lines, lines);
        for (int i = 0; i < count; i++) {
            lines[i] = passes->lines[i];
        }
    }
    return count;
}

int stk_passes_run(struct stk_passes *passes, struct stk_rows *rows, const struct stk_emit *emit)
{
    const uint8_t *lines[STK_ROWS_TOGETHER] = {NULL};
    if (passes->geometry->by_floats) {
        return stk_floats_run(&passes->floats, rows, emit);
    }
    for (uint32_t y = 0; y < emit->height;) {
        int count = make_lines(passes, rows, y, lines);
        if (count < 0) {
            return count;
        }
        for (int i = 0; i < count; i++) {
            stk_emit_line(emit, lines[i], y++);
        }
    }
    return STK_DECODE_OK;
}
