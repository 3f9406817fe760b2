/*
 * JPEG bytes and a plan in, pixels out: equal to Pillow's, bit for bit.
 *
 * A decoder holds all state and all scratch memory. There are no globals, and nothing prints, exits
 * or sets a signal handler. One thread at a time may use a decoder; different decoders are
 * independent. After a fork the child may go on using its copy. Not for signal handlers.
 *
 * A decoder keeps the scratch memory of its largest plan (a few rows) and 300 KB of tables. It
 * keeps memory for the coefficients and the form of an image of a few megapixels. libjpeg's own
 * memory is freed after each image.
 *
 * Every error is negative and means "not decoded": the target then holds anything. The caller lets
 * the reference library decode these bytes, so that its pixels, warnings and errors are seen. No
 * error is remembered: the next image starts afresh.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/common/decode_types.h"

struct stk_decoder;
/* Returns NULL if there is no memory. The caller owns the decoder. */
struct stk_decoder *stk_decoder_new(void);
void stk_decoder_free(struct stk_decoder *decoder); /* NULL is fine */

struct stk_frame {
    uint32_t width, height, components;
    const uint8_t *factors; /* of sampling, h << 4 | v, each three bytes on; NULL: not whole */
};
/* Reads the frame header of a JPEG, and checks nothing else. Returns false if stk_decode_examine()
 * must look. */
bool stk_decode_frame(const void *bytes, size_t size, struct stk_frame *out);

/*
 * Reads the header and looks for the end; makes no pixels. Returns OK also for files that
 * stk_decode() does not take, if the header can be read.
 */
int stk_decode_examine(struct stk_decoder *decoder, const void *bytes, size_t size,
                       struct stk_jpeg_info *out);

/*
 * Decodes. The bytes must not change meanwhile. UNSUPPORTED are: CMYK, YCCK, two components, twelve
 * bits, lossless, progressive files that are not complete, and more scans than any encoder makes.
 * The time is linear in the number of bytes and of pixels. Bytes behind the EOI marker are not
 * read.
 */
int stk_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
               const struct stk_plan *plan, const struct stk_target *target);

/*
 * Decodes as stk_decode() does, and makes the file's form. If the file has none, out->bytes is 0,
 * which is no error. The form lies in the decoder's memory until the decoder's next call. A file
 * with arithmetic coding is decoded as a whole, whatever the plan: damage anywhere makes it
 * CORRUPT.
 */
int stk_decode_keep(struct stk_decoder *decoder, const void *bytes, size_t size,
                    const struct stk_plan *plan, const struct stk_target *target,
                    struct stk_form *out);

/*
 * Decodes a form to the pixels of its file. The bytes may be any, and need not be aligned; they
 * must not change meanwhile. CORRUPT: no sound form. UNSUPPORTED: a form of another version. A form
 * does not say whether it is that of a given file: the caller must know.
 */
int stk_decode_form(struct stk_decoder *decoder, const void *data, size_t bytes,
                    const struct stk_plan *plan, const struct stk_target *target);

/* Reads what a form says of its file, without decoding. Results as those of stk_decode_form(). */
int stk_decode_examine_form(const void *data, size_t bytes, struct stk_form_source *out);

/*
 * Carries out a plan on an image. The channels of image and plan are equal, or 1 -> 3, 1 -> 4, 3 ->
 * 4, 4 -> 3. From 4 to 4 the fourth channel is treated like the others (RGBA, CMYK), so nothing is
 * premultiplied. Image and target must not overlap.
 */
int stk_transform(struct stk_decoder *decoder, const struct stk_image *image,
                  const struct stk_plan *plan, const struct stk_target *target);

/*
 * Makes one channel's table: (x / 255 - mean) / std in float, rounded after each step as torch
 * rounds. NULL leaves a step out.
 */
void stk_decode_table(float table[256], const float *mean, const float *std);

/*
 * Returns the name of the code at work: "avx512", "avx2", "neon" or "c", the best of this machine.
 * STOKER_SIMD in the environment names another one, for tests; it is ignored if the machine cannot
 * run it. A decoder reads it when it is made, and STOKER_ENTROPY and STOKER_CURSORS at its first
 * JPEG (decode/entropy/entropy.h).
 */
const char *stk_decode_simd(void);
