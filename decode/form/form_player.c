/* MCU by MCU from a form's groups to libjpeg. */
#include "decode/form/form_player.h"

#include <jerror.h>
#include <string.h>

/* A group is many short streams, which processors do not foresee: about as much as the next one. */
static void fetch_ahead(const struct stk_form_view *view, const uint8_t *from, size_t bytes)
{
    size_t left = (size_t)(view->groups + view->groups_bytes - from);
    for (size_t at = 0; at < bytes && at < left; at += 64) {
        __builtin_prefetch(from + at, 0, 2);
    }
}

/* Unpacks the group in which an MCU is. */
static void begin_group(j_decompress_ptr cinfo, struct stk_form_player *player, uint32_t mcu)
{
    const uint8_t *begin, *end;
    uint32_t number = mcu / player->group_mcus;
    struct stk_form_group *group = &player->unpacker.group;
    player->at = number * player->group_mcus;
    player->end = player->mcus - player->at < player->group_mcus ? player->mcus
                                                                 : player->at + player->group_mcus;
    group->blocks = (player->end - player->at) * player->mcu_blocks;
    if (!stk_form_find_group(player->view, number, &begin, &end)) {
        ERREXIT(cinfo, JERR_INPUT_EMPTY);
    }
    fetch_ahead(player->view, end, (size_t)(end - begin));
    int result = stk_unpacker_read(&player->unpacker, begin, end);
    if (result == STK_DECODE_MEMORY) {
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    } else if (result) {
        ERREXIT(cinfo, JERR_INPUT_EMPTY);
    }
    player->from.masks = group->masks;
    player->from.dc = group->dc;
    player->from.values = player->from.all = group->values;
    player->from.wide = group->wide;
    memset(player->from.last_dc, 0, sizeof player->from.last_dc);
}

static void skip_mcu(struct stk_form_player *player)
{
    player->kernels->pass(&player->from, player->component, player->mcu_blocks);
    player->at++;
}

/* Skips an unused MCU. The pointers pass it when an MCU of its group is used. */
static void pass_mcu(struct stk_form_player *player)
{
    player->next++;
    player->column = player->column + 1 < player->columns ? player->column + 1 : 0;
}

/* Brings the pointers to the next MCU. */
static void come_to_next(j_decompress_ptr cinfo, struct stk_form_player *player)
{
    if (player->next >= player->mcus) {
        ERREXIT(cinfo, JERR_INPUT_EMPTY);
    }
    if (player->next >= player->end) {
        begin_group(cinfo, player, player->next);
    }
    while (player->at < player->next) {
        skip_mcu(player);
    }
}

static boolean play_mcu(j_decompress_ptr cinfo, JBLOCKROW *out)
{
    struct stk_form_player *player = (struct stk_form_player *)(void *)cinfo->entropy;
    if (out && player->column >= player->first_column && player->column <= player->last_column) {
        come_to_next(cinfo, player);
        for (unsigned i = 0; i < player->mcu_blocks; i++) {
            stk_source_play(&player->from, player->kernels, out[i][0], player->component[i]);
        }
        player->at++;
    }
    pass_mcu(player);
    return TRUE;
}

static void take(j_decompress_ptr cinfo, struct stk_quad *quads,
                 const struct stk_block_slot *block_slots, unsigned mcus)
{
    struct stk_form_player *player = (struct stk_form_player *)(void *)cinfo->entropy;
    while (mcus > 0) {
        come_to_next(cinfo, player);
        unsigned here = player->end - player->at < mcus ? player->end - player->at : mcus;
        unsigned blocks = here * player->mcu_blocks;
        player->kernels->take(&player->from, quads, block_slots, blocks);
        player->next = player->at += here;
        block_slots += blocks;
        mcus -= here;
    }
}

static void skip(j_decompress_ptr cinfo, unsigned mcus)
{
    struct stk_form_player *player = (struct stk_form_player *)(void *)cinfo->entropy;
    player->next += mcus;
}

const struct stk_producer stk_form_player_producer = {.take = take, .skip = skip};

static void start_nothing(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

bool stk_form_player_start(struct stk_form_player *player, const struct stk_form_view *view,
                           struct jpeg_decompress_struct *cinfo)
{
    uint32_t rows = cinfo->MCU_rows_in_scan, blocks = (uint32_t)cinfo->blocks_in_MCU;
    if (blocks > STK_MCU_BLOCKS || cinfo->inputctl->has_multiple_scans ||
        cinfo->comps_in_scan != cinfo->num_components ||
        view->group_count != (rows + view->group_rows - 1) / view->group_rows) {
        return false;
    }
    player->pub.start_pass = start_nothing;
    player->pub.decode_mcu = play_mcu;
    player->view = view;
    player->next = player->at = player->end = player->column = 0;
    player->columns = cinfo->MCUs_per_row;
    player->mcus = rows * player->columns;
    player->group_mcus = view->group_rows * player->columns;
    player->mcu_blocks = blocks;
    for (uint32_t i = 0; i < blocks; i++) {
        player->component[i] = (uint8_t)cinfo->MCU_membership[i];
    }
    player->first_column = 0;
    player->last_column = player->columns;
    cinfo->entropy = &player->pub;
    return true;
}

void stk_form_player_crop(struct stk_form_player *player,
                          const struct jpeg_decompress_struct *cinfo)
{
    player->first_column = cinfo->master->first_iMCU_col;
    player->last_column = cinfo->master->last_iMCU_col;
}

void stk_form_player_free(struct stk_form_player *player, size_t but)
{
    stk_unpacker_free(&player->unpacker, but);
}
