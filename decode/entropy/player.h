/*
 * Takes the place of libjpeg's entropy decoder: hands it MCU after MCU out of coefficients that are
 * there already. Its IDCT, upsampling and colours do the rest.
 */
#ifndef STK_DECODE_ENTROPY_PLAYER_H
#define STK_DECODE_ENTROPY_PLAYER_H

#include "decode/entropy/coefficients.h"
#include "decode/units.h"

struct stk_player {
    struct jpeg_entropy_decoder pub; /* first: libjpeg knows only this */
    const struct stk_coefficients *coefficients;
    const struct stk_kernels *kernels;
    uint32_t run;    /* that is played */
    uint32_t blocks; /* that are left of it */
    struct stk_source next;
    uint32_t interval_left; /* MCUs */
    /* Columns of MCUs: which one is next, how many a row has, which ones are looked at. */
    uint32_t column, columns, first_column, last_column;
};

/*
 * At the beginning of a scan, before any line is read or skipped. Player and coefficients must stay
 * until the scan is done; more MCUs than there are is an error of libjpeg's.
 */
void stk_player_start(struct stk_player *player, const struct stk_coefficients *coefficients,
                      const struct stk_kernels *kernels, struct jpeg_decompress_struct *cinfo);
/* Behind jpeg_crop_scanline, of a file with one scan: only what it left is played. */
void stk_player_crop(struct stk_player *player, const struct jpeg_decompress_struct *cinfo);

/* The same for our own inverse DCT, instead of MCU by MCU. */
extern const struct stk_producer stk_player_producer;

#endif
