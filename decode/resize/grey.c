/*
 * Images of one channel. Each pass is asked for its next row and asks the one before it, in either
 * order. The vertical pass keeps the rows that it needs. The horizontal pass makes sixteen at a
 * time, which are four rows of four bytes a pixel.
 */
#include "decode/resize/grey.h"

#include <string.h>

#include "decode/resize/passes.h"

#define BATCH (4 * STK_ROWS_TOGETHER)

struct grey;
typedef const uint8_t *(*next_row)(struct grey *grey);

struct grey {
    struct stk_passes passes; /* the taps, and the region that counts; rows are kept here */
    const struct stk_image *image;
    next_row before_x, before_y;   /* where the passes have their rows from */
    uint32_t done, x_done, y_done; /* rows that came from the image and the passes */
    uint32_t x_rows, x_width;      /* that go through the horizontal pass, and their length */
    uint32_t kept, y_width;        /* rows that the vertical pass took, and their length */
    /* Four rows in one, before the horizontal pass and behind it. */
    uint8_t *mixed[STK_ROWS_TOGETHER], *weighed[STK_ROWS_TOGETHER];
    uint8_t *x_lines[BATCH], *y_lines[BATCH]; /* the passes' last results */
};

/* ---- four rows in one, and back ---- */

typedef uint8_t bytes __attribute__((vector_size(16)));
typedef uint16_t pairs __attribute__((vector_size(16)));

static inline bytes load(const uint8_t *from)
{
    bytes value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void store(uint8_t *to, bytes value)
{
    memcpy(to, &value, sizeof value);
}

static inline bytes zip_low(bytes a, bytes b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline bytes zip_high(bytes a, bytes b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}

static inline void zip_pairs(uint8_t *to, bytes a, bytes b)
{
    pairs first = (pairs)a, second = (pairs)b;
    store(to, (bytes)__builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11));
    store(to + 16, (bytes)__builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15));
}

static void mix(uint8_t *out, const uint8_t *const rows[4], size_t pixels)
{
    size_t p = 0;
    for (; p + 16 <= pixels; p += 16) {
        bytes a = load(rows[0] + p), b = load(rows[1] + p);
        bytes c = load(rows[2] + p), d = load(rows[3] + p);
        zip_pairs(out + 4 * p, zip_low(a, b), zip_low(c, d));
        zip_pairs(out + 4 * p + 32, zip_high(a, b), zip_high(c, d));
    }
    for (; p < pixels; p++) {
        for (size_t i = 0; i < 4; i++) {
            out[4 * p + i] = rows[i][p];
        }
    }
}

/* Every second byte, from the first or from the second on. */
static inline bytes even(bytes a, bytes b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

static inline bytes odd(bytes a, bytes b)
{
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* In whole steps of 16 pixels: lines are that long. */
static void part(uint8_t *const lines[4], const uint8_t *in, size_t pixels)
{
    for (size_t p = 0; p < pixels; p += 16) {
        bytes a = load(in + 4 * p), b = load(in + 4 * p + 16);
        bytes c = load(in + 4 * p + 32), d = load(in + 4 * p + 48);
        bytes first = even(a, b), second = even(c, d), third = odd(a, b), fourth = odd(c, d);
        store(lines[0] + p, even(first, second));
        store(lines[1] + p, even(third, fourth));
        store(lines[2] + p, odd(first, second));
        store(lines[3] + p, odd(third, fourth));
    }
}

/* ---- rows ---- */

static const uint8_t *image_row(struct grey *grey)
{
    const struct stk_region *region = &grey->passes.region;
    return stk_image_row(grey->image, region->top + (size_t)grey->done++) + region->left;
}

/* The next rows of the horizontal pass: BATCH of them, or fewer at the end. */
static void make_batch(struct grey *grey)
{
    const uint8_t *in[STK_ROWS_TOGETHER], *rows[BATCH];
    uint32_t left = grey->x_rows - grey->x_done;
    rows[0] = grey->before_x(grey);
    for (uint32_t i = 1; i < BATCH; i++) {
        rows[i] = i < left ? grey->before_x(grey) : rows[i - 1];
    }
    for (uint32_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        mix(grey->mixed[i], rows + (size_t)4 * i, grey->x_width);
        in[i] = grey->mixed[i];
    }
    stk_weigh_columns(grey->passes.kernels, grey->weighed, in, &grey->passes.x.taps);
    for (uint32_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        part(grey->x_lines + (size_t)4 * i, grey->weighed[i], grey->passes.x.taps.outputs);
    }
}

static const uint8_t *x_row(struct grey *grey)
{
    if (grey->x_done % BATCH == 0) {
        make_batch(grey);
    }
    return grey->x_lines[grey->x_done++ % BATCH];
}

static uint8_t *kept_row(const struct grey *grey, uint32_t number)
{
    return grey->passes.ring + number % grey->passes.ring_rows * grey->passes.ring_stride;
}

/* BATCH results stay, as the horizontal pass takes so many. */
static const uint8_t *y_row(struct grey *grey)
{
    struct stk_passes *passes = &grey->passes;
    const struct stk_taps *taps = &passes->y.taps;
    uint32_t y = grey->y_done++, length = passes->y.lengths[y], groups = stk_passes_groups(length);
    uint8_t *line = grey->y_lines[y % BATCH];
    while (grey->kept < taps->first[y] + length) {
        const uint8_t *row = grey->before_y(grey);
        memcpy(kept_row(grey, grey->kept++), row, grey->y_width);
    }
    for (uint32_t i = 0; i < 4 * groups; i++) {
        uint32_t row = taps->first[y] + (i < length ? i : length ? length - 1 : 0);
        passes->pointers[i] = kept_row(grey, row);
    }
    stk_weigh_rows(passes->kernels, line, passes->pointers, taps, y, groups,
                   (grey->y_width + 3) / 4);
    return line;
}

/* ---- setting up ---- */

/* Bytes for a row that kernels may write to in whole steps, and read beyond. */
static size_t stride_of(size_t row_bytes)
{
    return ((row_bytes + 63) & ~(size_t)63) + STK_ROW_SLACK;
}

static int make_memory(struct grey *grey, struct stk_workspace *workspace)
{
    struct stk_passes *passes = &grey->passes;
    uint32_t outputs = passes->geometry->pass_x ? passes->x.taps.outputs : 0;
    size_t x_line = stride_of(outputs), y_line = stride_of(grey->y_width);
    size_t mixed = stride_of(4 * (grey->x_width + passes->slack));
    size_t weighed = stride_of(4 * (outputs + 15));
    passes->ring_rows = passes->geometry->pass_y ? passes->y.inputs.longest : 1;
    passes->ring_stride = y_line;
    passes->ring = stk_workspace_get(workspace, STK_SCRATCH_RING, passes->ring_rows * y_line);
    passes->pointers = stk_workspace_get(workspace, STK_SCRATCH_POINTERS,
                                         ((size_t)passes->ring_rows + 4) * sizeof(uint8_t *));
    uint8_t *four =
        stk_workspace_get(workspace, STK_SCRATCH_BAND, STK_ROWS_TOGETHER * (mixed + weighed));
    uint8_t *lines = stk_workspace_get(workspace, STK_SCRATCH_LINES, BATCH * (x_line + y_line));
    if (!passes->ring || !passes->pointers || !four || !lines) {
        return STK_DECODE_MEMORY;
    }
    for (size_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        grey->mixed[i] = four + i * (mixed + weighed);
        grey->weighed[i] = grey->mixed[i] + mixed;
    }
    for (size_t i = 0; i < BATCH; i++) {
        grey->x_lines[i] = lines + i * x_line;
        grey->y_lines[i] = lines + BATCH * x_line + i * y_line;
    }
    return STK_DECODE_OK;
}

/* Which pass has its rows from which; returns the last one. */
static next_row connect(struct grey *grey)
{
    const struct stk_geometry *geometry = grey->passes.geometry;
    const struct stk_region *region = &grey->passes.region;
    bool x_first = geometry->pass_x && !(geometry->pass_y && geometry->vertical_first);
    grey->x_width = region->width;
    grey->x_rows = x_first ? region->height : geometry->height;
    grey->y_width = x_first ? grey->passes.x.taps.outputs : region->width;
    grey->before_x = x_first ? image_row : y_row;
    grey->before_y = x_first ? x_row : image_row;
    return geometry->pass_y && (x_first || !geometry->pass_x) ? y_row : x_row;
}

bool stk_grey_fits(const struct stk_image *image, const struct stk_plan *plan,
                   const struct stk_geometry *geometry)
{
    return image->channels == 1 && plan->channels == 1 && plan->type == STK_TYPE_U8 &&
           (geometry->pass_x || geometry->pass_y);
}

int stk_grey_run(struct stk_workspace *workspace, const struct stk_image *image,
                 const struct stk_plan *plan, const struct stk_geometry *geometry,
                 const struct stk_target *target)
{
    struct grey grey = {.passes = {.geometry = geometry, .kernels = workspace->kernels}};
    int result = stk_passes_make_taps(&grey.passes, workspace);
    if (result) {
        return result;
    }
    grey.image = image;
    next_row last = connect(&grey);
    result = make_memory(&grey, workspace);
    for (uint32_t y = 0; y < geometry->height && !result; y++) {
        size_t at = plan->flip & STK_FLIP_VERTICAL ? geometry->height - 1 - y : y;
        const uint8_t *row = last(&grey);
        memcpy((uint8_t *)target->data + at * target->row_bytes, row, geometry->width);
    }
    return result;
}
