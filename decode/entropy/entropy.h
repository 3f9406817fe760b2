/*
 * Entropy decoding of our own, for libjpeg's objects: looks at each scan of a file when libjpeg
 * comes to it, parses it if it is of a kind that is known here, and then plays it to libjpeg.
 *
 * Where libjpeg begins a scan it calls its entropy decoder's start_pass. Who has put ours in its
 * place (stk_entropy_stand_in) is called instead, and calls stk_entropy_parse; then
 * stk_entropy_play, or stk_entropy_step_back if that was false.
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

/* Before a scan: libjpeg shall call `start` when it begins. */
void stk_entropy_stand_in(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo,
                          void (*start)(j_decompress_ptr cinfo));
/* Lets libjpeg's decoder do this scan; it builds its tables now. */
void stk_entropy_step_back(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo);
/*
 * Before any data of the scan are read: parses what the first `lines` lines of the image need; of a
 * file with several scans, all. False: not here; libjpeg has not noticed anything.
 */
bool stk_entropy_parse(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo,
                       uint32_t lines);
/* Behind a parse: libjpeg gets the scan's coefficients from here, and goes on behind its data. */
void stk_entropy_play(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo);
/* Behind jpeg_crop_scanline, of a file with one scan. */
void stk_entropy_crop(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo);
/* Sequential, Huffman codes, eight bits: how a scan has to be. */
bool stk_entropy_knows(const struct jpeg_decompress_struct *cinfo);
/* Behind a parse: what it found, until the next one or stk_entropy_rest(). */
const struct stk_coefficients *stk_entropy_coefficients(const struct stk_entropy *entropy);
/* How many cursors had a part in the last parse. For tests. */
unsigned stk_entropy_cursors(const struct stk_entropy *entropy);
/* Behind an image: gives back the memory that only large ones need. */
void stk_entropy_rest(struct stk_entropy *entropy);

#endif
