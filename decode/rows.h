/*
 * Where pixels come from: rows of a region, from above to below, each once, as four bytes a pixel
 * with STK_ROW_SLACK and more readable bytes behind them.
 */
#ifndef STK_DECODE_ROWS_H
#define STK_DECODE_ROWS_H

#include "decode/decode.h"
#include "decode/decoder.h"
#include "decode/jpeg.h"

#define STK_BAND_ROWS 16

struct stk_rows {
    struct stk_jpeg *jpeg;         /* one of the two */
    const struct stk_image *image; /* */
    struct stk_region region;
    uint8_t *band[STK_BAND_ROWS]; /* rows that were read together */
    uint32_t indent;              /* pixels before the region's first in each of them */
    size_t below;                 /* rows of an image that may be read into from the one above */
    uint32_t filled, used;        /* rows of the band */
    uint32_t done;                /* rows of the region that are behind us */
};

/* The header must have been read. `slack`: pixels behind a row that may be read. */
int stk_rows_open_jpeg(struct stk_rows *rows, struct stk_decoder *decoder, struct stk_region region,
                       size_t slack);
int stk_rows_open_image(struct stk_rows *rows, struct stk_decoder *decoder,
                        const struct stk_image *image, struct stk_region region, size_t slack);
/* The next row, which is there until the next call; or an error. At most region.height of them. */
int stk_rows_next(struct stk_rows *rows, const uint8_t **row);

#endif
