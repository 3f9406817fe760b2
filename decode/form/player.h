/*
 * Takes the place of libjpeg's entropy decoder, as decode/entropy/player.h does, out of a form: a
 * group is unpacked when the first of its MCUs is wanted that anybody looks at.
 */
#ifndef STK_DECODE_FORM_PLAYER_H
#define STK_DECODE_FORM_PLAYER_H

#include "decode/form/unpack.h"
#include "decode/units.h"

struct stk_form_player {
    struct jpeg_entropy_decoder pub; /* first: libjpeg knows only this */
    const struct stk_form_view *view;
    const struct stk_kernels *kernels;
    struct stk_unpacker unpacker;
    uint32_t next;       /* the MCU that comes next */
    uint32_t at, end;    /* the one that the pointers below are at, and where its group ends */
    uint32_t mcus;       /* of the image */
    uint32_t group_mcus; /* of a group */
    uint32_t mcu_blocks;
    uint8_t component[STK_MCU_BLOCKS];
    struct stk_source from;
    /* Columns of MCUs: which one is next, how many a row has, which ones are looked at. */
    uint32_t column, columns, first_column, last_column;
};

/*
 * At the beginning of an image's only scan, of a kind that stk_entropy_knows(). View and form must
 * stay until the image is done. False: the form is of another image. What is wrong with a group
 * becomes an error of libjpeg's when it is played.
 */
bool stk_form_player_start(struct stk_form_player *player, const struct stk_form_view *view,
                           struct jpeg_decompress_struct *cinfo);
/* Behind jpeg_crop_scanline: only what it left is played. */
void stk_form_player_crop(struct stk_form_player *player,
                          const struct jpeg_decompress_struct *cinfo);
/* The same for our own inverse DCT, instead of MCU by MCU. */
extern const struct stk_producer stk_form_player_producer;
/* Gives back the memory of groups that takes more bytes than `but`. */
void stk_form_player_free(struct stk_form_player *player, size_t but);

#endif
