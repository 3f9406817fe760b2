/*
 * Takes the place of libjpeg's entropy decoder, as decode/entropy/scan_player.h does, and plays a
 * form. A group is unpacked when the first of its MCUs is used.
 */
#pragma once

#include "decode/form/unpack.h"
#include "decode/stages/units.h"

struct stk_form_player {
    struct jpeg_entropy_decoder pub; /* first: libjpeg knows only this */
    const struct stk_form_view *view;
    const struct stk_kernels *kernels;
    struct stk_unpacker unpacker;
    uint32_t next;       /* the next MCU */
    uint32_t at, end;    /* the MCU of `from`, and the end of its group */
    uint32_t mcus;       /* of the image */
    uint32_t group_mcus; /* of a group */
    uint32_t mcu_blocks;
    uint8_t component[STK_MCU_BLOCKS];
    struct stk_source from;
    /* Columns of MCUs: the next one, the number in a row, the first and the last that are used. */
    uint32_t column, columns, first_column, last_column;
};

/*
 * Begins to play. Call it at the beginning of an image's only scan, of a kind for which
 * stk_entropy_knows(). View and form must stay until the image is done. Returns false if the form
 * is that of another image. A fault in a group becomes an error of libjpeg's when the group is
 * played.
 */
bool stk_form_player_start(struct stk_form_player *player, const struct stk_form_view *view,
                           struct jpeg_decompress_struct *cinfo);
/* Plays only the columns that jpeg_crop_scanline left. Call it after that. */
void stk_form_player_crop(struct stk_form_player *player,
                          const struct jpeg_decompress_struct *cinfo);
/* Plays to our own inverse DCT instead of libjpeg's. */
extern const struct stk_producer stk_form_player_producer;
/* Frees each piece of the groups' memory of more than `but` bytes. */
void stk_form_player_free(struct stk_form_player *player, size_t but);
