/*
 * Entropy decoding in the place of libjpeg's. When libjpeg comes to a scan, the parser parses it if
 * it is of a known kind, and then plays the coefficients to libjpeg.
 *
 * When libjpeg begins a scan it calls its entropy decoder's start_pass. stk_entropy_stand_in() puts
 * a function of the caller in its place. That function calls stk_entropy_parse(); after a true
 * result stk_entropy_play(), else stk_entropy_step_back().
 *
 * Two variables are read when the object is made, for tests. STOKER_ENTROPY=libjpeg lets libjpeg do
 * all of it. STOKER_CURSORS=1 to 4 is the number of cursors, however short the scan is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

#include "decode/kernels/kernels.h"

struct stk_entropy;

/* Returns NULL if there is no memory. One thread at a time may use it, as all of a decoder. */
struct stk_entropy *stk_entropy_new(const struct stk_kernels *kernels);
void stk_entropy_free(struct stk_entropy *entropy);

/* Makes libjpeg call `start` at the beginning of a scan. Call it before the scan. */
void stk_entropy_stand_in(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo,
                          void (*start)(j_decompress_ptr cinfo));
/* Lets libjpeg's own decoder do this scan. It builds its tables now. */
void stk_entropy_step_back(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo);
/*
 * Parses the data that the first `lines` lines of the image need; in a file with several scans, all
 * data. Call it before any data of the scan are read. Returns false if the scan is not accepted;
 * libjpeg has not noticed anything then.
 */
bool stk_entropy_parse(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo,
                       uint32_t lines);
/* Plays the parsed coefficients to libjpeg, which goes on behind the scan's data. */
void stk_entropy_play(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo);
/* Plays only the columns that jpeg_crop_scanline left, in a file with one scan. Call it after that.
 */
void stk_entropy_crop(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo);
/* Returns true if the scan is of a known kind: sequential, Huffman codes, eight bits. */
bool stk_entropy_knows(const struct jpeg_decompress_struct *cinfo);
/* Returns the coefficients of the last parse. They stay until the next one or stk_entropy_rest().
 */
const struct stk_coefficients *stk_entropy_coefficients(const struct stk_entropy *entropy);
/* Returns how many cursors had a part in the last parse. For tests. */
unsigned stk_entropy_cursors(const struct stk_entropy *entropy);
/* Frees the memory that only large images need. Call it after an image. */
void stk_entropy_rest(struct stk_entropy *entropy);
