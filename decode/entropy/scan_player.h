/*
 * Takes the place of libjpeg's entropy decoder: hands libjpeg MCU after MCU out of parsed
 * coefficients. libjpeg's IDCT, upsampling and colours do the rest.
 */
#pragma once

#include "decode/common/coefficients.h"
#include "decode/stages/units.h"

struct stk_player {
    struct jpeg_entropy_decoder pub; /* first: libjpeg knows only this */
    const struct stk_coefficients *coefficients;
    const struct stk_kernels *kernels;
    uint32_t run;    /* the next one to play */
    uint32_t blocks; /* left of the run */
    struct stk_source next;
    uint32_t interval_left; /* MCUs */
    /* Columns of MCUs: the next one, the number in a row, the first and the last that are used. */
    uint32_t column, columns, first_column, last_column;
};

/*
 * Begins to play. Call it at the beginning of a scan, before any line is read or skipped. Player
 * and coefficients must stay until the scan is done. If libjpeg asks for more MCUs than there are,
 * it gets an error of its own.
 */
void stk_player_start(struct stk_player *player, const struct stk_coefficients *coefficients,
                      const struct stk_kernels *kernels, struct jpeg_decompress_struct *cinfo);
/* Plays only the columns that jpeg_crop_scanline left, in a file with one scan. Call it after that.
 */
void stk_player_crop(struct stk_player *player, const struct jpeg_decompress_struct *cinfo);

/* Plays to our own inverse DCT instead of libjpeg's. */
extern const struct stk_producer stk_player_producer;
