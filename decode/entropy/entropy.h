/*
 * Entropy decoding of our own, for libjpeg's objects: looks at a file's only scan, parses it if it
 * is of a kind that is known here, and then plays it to libjpeg.
 *
 * The environment may say, when one is made: STOKER_ENTROPY=libjpeg that libjpeg does it all,
 * STOKER_CURSORS=1 to 4 how many cursors there are, however short the scan is (both for tests).
 */
#ifndef STK_DECODE_ENTROPY_ENTROPY_H
#define STK_DECODE_ENTROPY_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

#include "decode/kernels/kernels.h"

struct stk_entropy;

/* NULL: no memory. One thread at a time, as everything of a decoder. */
struct stk_entropy *stk_entropy_new(const struct stk_kernels *kernels);
void stk_entropy_free(struct stk_entropy *entropy);

/*
 * Between jpeg_start_decompress and the first line: parses what the first `lines` lines of the
 * image need. False: not here; libjpeg has not noticed anything, and goes on by itself.
 */
bool stk_entropy_parse(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo,
                       uint32_t lines);
/* Behind a parse and jpeg_crop_scanline: from now on libjpeg gets its coefficients from here. */
void stk_entropy_play(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo);
/* How many cursors had a part in the last parse. For tests. */
unsigned stk_entropy_cursors(const struct stk_entropy *entropy);
/* Behind an image: gives back the memory that only large ones need. */
void stk_entropy_rest(struct stk_entropy *entropy);

#endif
