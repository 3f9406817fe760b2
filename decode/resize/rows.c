/* A band of rows lies in scratch memory between the source and the passes. */
#include "decode/resize/rows.h"

#include <string.h>

static int make_band(struct stk_rows *rows, struct stk_workspace *workspace, size_t pixels)
{
    size_t stride = (4 * pixels + STK_ROW_SLACK + 63) & ~(size_t)63;
    uint8_t *memory = stk_workspace_get(workspace, STK_SCRATCH_BAND, stride * STK_BAND_ROWS);
    for (size_t i = 0; memory && i < STK_BAND_ROWS; i++) {
        rows->band[i] = memory + i * stride;
    }
    return memory ? STK_DECODE_OK : STK_DECODE_MEMORY;
}

int stk_rows_open_jpeg(struct stk_rows *rows, struct stk_workspace *workspace,
                       struct stk_jpeg *jpeg, struct stk_region region, size_t slack)
{
    uint32_t pixels;
    *rows = (struct stk_rows){.jpeg = jpeg, .region = region, .bytes = 4};
    int result = stk_jpeg_start(rows->jpeg, region, STK_PIXEL_RGBX, &rows->indent, &pixels);
    return result ? result : make_band(rows, workspace, pixels + slack);
}

int stk_rows_open_image(struct stk_rows *rows, struct stk_workspace *workspace,
                        const struct stk_image *image, struct stk_region region, size_t slack,
                        bool as_they_are)
{
    size_t pixels = region.width + slack;
    *rows = (struct stk_rows){.image = image, .region = region, .kernels = workspace->kernels};
    rows->bytes = as_they_are && image->channels == 3 ? 3 : 4;
    size_t end = rows->bytes * (region.left + pixels) + STK_ROW_SLACK;
    rows->below = end / (rows->bytes * (size_t)image->width);
    return make_band(rows, workspace, pixels);
}

static void expand_grey(uint8_t *out, const uint8_t *in, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++) {
        memset(out + 4 * p, in[p], 3);
        out[4 * p + 3] = 255;
    }
}

/* Writes a row of at least one pixel, mostly as four bytes a pixel. */
static void expand(const struct stk_rows *rows, uint8_t *out, const uint8_t *in)
{
    uint32_t channels = rows->image->channels;
    size_t pixels = rows->region.width;
    if (channels == rows->bytes) {
        memcpy(out, in, channels * pixels);
    } else if (channels == 3) {
        rows->kernels->widen(out, in, pixels);
    } else {
        expand_grey(out, in, pixels);
    }
}

/* Returns true if a row can be used in place. Its pixels have as many bytes as those that are given
 * out, and the bytes that may be read behind its end lie in the next rows. */
static bool can_stay(const struct stk_rows *rows, size_t y)
{
    const struct stk_image *image = rows->image;
    ptrdiff_t width = (ptrdiff_t)image->channels * image->width;
    if (image->channels != rows->bytes || rows->below >= image->height - y) {
        return false;
    }
    for (size_t i = 1; i <= rows->below; i++) {
        if (stk_image_row(image, y + i) - stk_image_row(image, y) != (ptrdiff_t)i * width) {
            return false;
        }
    }
    return true;
}

static const uint8_t *next_of_image(struct stk_rows *rows, uint8_t *aside)
{
    const struct stk_image *image = rows->image;
    size_t y = rows->region.top + (size_t)rows->done;
    const uint8_t *row = stk_image_row(image, y) + (size_t)rows->region.left * image->channels;
    if (!can_stay(rows, y)) {
        expand(rows, aside, row);
        row = aside;
    }
    return row;
}

/* Fills the band: libjpeg gives less at a time where its own groups of rows end. */
static int fill_from_jpeg(struct stk_rows *rows)
{
    uint32_t left = rows->region.height - rows->done;
    uint32_t wanted = left < STK_BAND_ROWS ? left : STK_BAND_ROWS;
    rows->filled = rows->used = 0;
    while (rows->filled < wanted) {
        int read = stk_jpeg_read(rows->jpeg, rows->band + rows->filled, wanted - rows->filled);
        if (read < 0) {
            return read;
        }
        rows->filled += (uint32_t)read;
    }
    return STK_DECODE_OK;
}

int stk_rows_next(struct stk_rows *rows, const uint8_t *out[STK_ROWS_TOGETHER])
{
    uint32_t left = rows->region.height - rows->done;
    uint32_t count = left < STK_ROWS_TOGETHER ? left : STK_ROWS_TOGETHER;
    int result = rows->jpeg && rows->used == rows->filled ? fill_from_jpeg(rows) : STK_DECODE_OK;
    if (result) {
        return result;
    }
    const uint8_t *row = NULL;
    for (uint32_t i = 0; i < STK_ROWS_TOGETHER; i++) {
        if (i < count) {
            row = rows->jpeg ? rows->band[rows->used++] + 4 * (size_t)rows->indent
                             : next_of_image(rows, rows->band[i]);
            rows->done++;
        }
        out[i] = row;
    }
    return (int)count;
}
