/*
 * libjpeg-turbo behind a wall: its errors and its warnings become results.
 *
 * To decode a file, call stk_jpeg_header, stk_jpeg_start, stk_jpeg_read until all rows are there,
 * and stk_jpeg_stop, which also follows an error. Coefficients lie between bytes and pixels: in
 * stk_jpeg_start another producer than libjpeg's may take over (decode/entropy, decode/form).
 */
#pragma once

#include "decode/common/decode_types.h"
#include "decode/kernels/kernels.h"

struct stk_jpeg;

/* Samples of a pixel in their order: grey images have luma, too. */
enum stk_pixel { STK_PIXEL_LUMA, STK_PIXEL_RGB, STK_PIXEL_BGR, STK_PIXEL_RGBX };

/* Returns NULL if there is no memory. */
struct stk_jpeg *stk_jpeg_new(const struct stk_kernels *kernels);
void stk_jpeg_free(struct stk_jpeg *jpeg);

int stk_jpeg_header(struct stk_jpeg *jpeg, const void *bytes, size_t size,
                    struct stk_jpeg_info *info);
/* Finds info->end after the header was read, unless `known` is not 0. */
void stk_jpeg_end(struct stk_jpeg *jpeg, const void *bytes, size_t size, size_t known,
                  struct stk_jpeg_info *info);
/* Reads the header of a form. Its bytes must stay until stk_jpeg_stop. */
int stk_jpeg_header_of_form(struct stk_jpeg *jpeg, const void *data, size_t bytes,
                            struct stk_jpeg_info *info);
/* Makes stk_jpeg_start also make the file's form, if it has one. Call it before. */
void stk_jpeg_keep(struct stk_jpeg *jpeg);
/* Returns the form that stk_jpeg_start made; 0 bytes if there is none. It stays until the next
 * header. */
struct stk_form stk_jpeg_form(const struct stk_jpeg *jpeg);
/* Makes the image smaller by a plan's scale, behind the header. Sets the size in info. */
int stk_jpeg_scale(struct stk_jpeg *jpeg, uint32_t scale, struct stk_jpeg_info *info);
/*
 * Prepares rows of such pixels. libjpeg decodes whole units only, so rows begin at column
 * region.left - *indent and are *row_pixels wide. For the image's whole width both are exact.
 */
int stk_jpeg_start(struct stk_jpeg *jpeg, struct stk_region region, enum stk_pixel pixel,
                   uint32_t *indent, uint32_t *row_pixels);
/* Fills some of `count` rows, from above. Returns how many (at least one), or an error. */
int stk_jpeg_read(struct stk_jpeg *jpeg, uint8_t **rows, uint32_t count);
void stk_jpeg_stop(struct stk_jpeg *jpeg);
/* Returns how many cursors found the last image's coefficients; 0: libjpeg did. For tests. */
unsigned stk_jpeg_cursors(const struct stk_jpeg *jpeg);
