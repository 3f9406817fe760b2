/*
 * Gives the rows of a region of a JPEG or an image, from above to below, each once. They have four
 * bytes a pixel (or the three of an image), and STK_ROW_SLACK or more readable bytes behind them.
 */
#pragma once

#include "decode/common/decode_types.h"
#include "decode/common/workspace.h"
#include "decode/jpeg/jpeg.h"
#include "decode/kernels/kernels.h"

#define STK_BAND_ROWS 16

struct stk_rows {
    struct stk_jpeg *jpeg; /* this or the image is set */
    const struct stk_image *image;
    const struct stk_kernels *kernels; /* for an image */
    struct stk_region region;
    uint32_t bytes;               /* of a pixel that is given out */
    uint8_t *band[STK_BAND_ROWS]; /* rows that are read together */
    uint32_t indent;              /* pixels before the region's first in each row */
    size_t below;                 /* rows of an image that reading behind the row above may reach */
    uint32_t filled, used;        /* rows of the band */
    uint32_t done;                /* rows of the region that were given out */
};

/* Returns the beginning of an image's row. */
static inline const uint8_t *stk_image_row(const struct stk_image *image, size_t y)
{
    return image->rows ? image->rows[y] : (const uint8_t *)image->data + y * image->row_bytes;
}

/* Opens a JPEG whose header was read. `slack`: pixels behind a row that may be read. */
int stk_rows_open_jpeg(struct stk_rows *rows, struct stk_workspace *workspace,
                       struct stk_jpeg *jpeg, struct stk_region region, size_t slack);
/* Opens an image. `as_they_are`: if its pixels have three bytes, so have those of the rows. */
int stk_rows_open_image(struct stk_rows *rows, struct stk_workspace *workspace,
                        const struct stk_image *image, struct stk_region region, size_t slack,
                        bool as_they_are);
/* Gives the next rows, which stay until the next call. Returns how many there are, or an error.
 * If these are fewer than STK_ROWS_TOGETHER, the places behind them hold the last row again. Call
 * it until region.height rows were given out. */
int stk_rows_next(struct stk_rows *rows, const uint8_t *out[STK_ROWS_TOGETHER]);
