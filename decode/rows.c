/* Rows out of a JPEG or an image, by way of a band of them in scratch memory. */
#include "decode/rows.h"

#include <string.h>

static int make_band(struct stk_rows *rows, struct stk_decoder *decoder, size_t pixels)
{
    size_t stride = (4 * pixels + STK_ROW_SLACK + 63) & ~(size_t)63;
    uint8_t *memory = stk_scratch_get(decoder, STK_SCRATCH_BAND, stride * STK_BAND_ROWS);
    for (size_t i = 0; memory && i < STK_BAND_ROWS; i++) {
        rows->band[i] = memory + i * stride;
    }
    return memory ? STK_DECODE_OK : STK_DECODE_MEMORY;
}

int stk_rows_open_jpeg(struct stk_rows *rows, struct stk_decoder *decoder, struct stk_region region,
                       size_t slack)
{
    uint32_t pixels;
    *rows = (struct stk_rows){.jpeg = decoder->jpeg, .region = region};
    int result = stk_jpeg_start(rows->jpeg, region, &rows->indent, &pixels);
    return result ? result : make_band(rows, decoder, pixels + slack);
}

int stk_rows_open_image(struct stk_rows *rows, struct stk_decoder *decoder,
                        const struct stk_image *image, struct stk_region region, size_t slack)
{
    *rows = (struct stk_rows){.image = image, .region = region};
    return make_band(rows, decoder, region.width + slack);
}

static void expand(uint8_t *out, const uint8_t *in, uint32_t channels, uint32_t pixels)
{
    if (channels == 4) {
        memcpy(out, in, 4 * (size_t)pixels);
        return;
    }
    for (size_t p = 0; p < pixels; p++) {
        const uint8_t *pixel = in + channels * p;
        out[4 * p] = pixel[0];
        out[4 * p + 1] = channels == 1 ? pixel[0] : pixel[1];
        out[4 * p + 2] = channels == 1 ? pixel[0] : pixel[2];
        out[4 * p + 3] = 255;
    }
}

static int fill_from_image(struct stk_rows *rows)
{
    const struct stk_image *image = rows->image;
    size_t top = rows->region.top + (size_t)rows->done;
    const uint8_t *row = (const uint8_t *)image->data + top * image->row_bytes +
                         (size_t)rows->region.left * image->channels;
    expand(rows->band[0], row, image->channels, rows->region.width);
    return 1;
}

static int fill_from_jpeg(struct stk_rows *rows)
{
    uint32_t left = rows->region.height - rows->done;
    return stk_jpeg_read(rows->jpeg, rows->band, left < STK_BAND_ROWS ? left : STK_BAND_ROWS);
}

int stk_rows_next(struct stk_rows *rows, const uint8_t **row)
{
    if (rows->used == rows->filled) {
        int filled = rows->jpeg ? fill_from_jpeg(rows) : fill_from_image(rows);
        if (filled < 0) {
            return filled;
        }
        rows->filled = (uint32_t)filled;
        rows->used = 0;
    }
    *row = rows->band[rows->used++] + 4 * (size_t)rows->indent;
    rows->done++;
    return STK_DECODE_OK;
}
