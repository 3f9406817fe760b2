/*
 * libjpeg-turbo, kept to itself: its errors become results, its warnings too.
 *
 * A file is decoded by stk_jpeg_header, stk_jpeg_start, stk_jpeg_read until all rows are there, and
 * stk_jpeg_stop, which also follows an error. Between the bytes and the pixels lie the
 * coefficients: stk_jpeg_start is where another producer of them than libjpeg's takes over
 * (decode/entropy).
 */
#ifndef STK_DECODE_JPEG_H
#define STK_DECODE_JPEG_H

#include "decode/decode.h"
#include "decode/kernels/kernels.h"

struct stk_jpeg;

struct stk_region {
    uint32_t left, top, width, height;
};

/* NULL: no memory. */
struct stk_jpeg *stk_jpeg_new(const struct stk_kernels *kernels);
void stk_jpeg_free(struct stk_jpeg *jpeg);

int stk_jpeg_header(struct stk_jpeg *jpeg, const void *bytes, size_t size,
                    struct stk_jpeg_info *info);
/* After it: finds info->end, unless it is known (else 0). */
void stk_jpeg_end(struct stk_jpeg *jpeg, const void *bytes, size_t size, size_t known,
                  struct stk_jpeg_info *info);
/* As the header of a file, of a form, whose bytes must stay until stk_jpeg_stop. */
int stk_jpeg_header_of_form(struct stk_jpeg *jpeg, const void *data, size_t bytes,
                            struct stk_jpeg_info *info);
/* Before stk_jpeg_start: what there is a form of it is made then. */
void stk_jpeg_keep(struct stk_jpeg *jpeg);
/* Behind it: the form, until the next header; 0 bytes if there is none. */
struct stk_form stk_jpeg_form(const struct stk_jpeg *jpeg);
/*
 * Prepares rows of RGB (3 bytes a pixel) or RGBX (4). They begin at column region.left - *indent
 * and are *row_pixels wide, as libjpeg decodes whole units only; the image's whole width as it is.
 */
int stk_jpeg_start(struct stk_jpeg *jpeg, struct stk_region region, uint32_t bytes,
                   uint32_t *indent, uint32_t *row_pixels);
/* Fills some of `count` rows, from above; returns how many (at least one), or an error. */
int stk_jpeg_read(struct stk_jpeg *jpeg, uint8_t **rows, uint32_t count);
void stk_jpeg_stop(struct stk_jpeg *jpeg);
/* How many cursors found the last image's coefficients; 0: libjpeg did. For tests. */
unsigned stk_jpeg_cursors(const struct stk_jpeg *jpeg);

#endif
