#include "decode/entropy/scan_player.h"

#include <jerror.h>

static void begin_run(struct stk_player *player)
{
    const struct stk_coefficient_run *run = &player->coefficients->runs[player->run++];
    player->blocks = run->blocks;
    player->next.masks = run->masks;
    player->next.all = player->coefficients->values;
    player->next.values = player->next.all + run->first_value;
    player->next.wide = run->wide;
}

/* Runs and restart intervals begin at an MCU. */
static void begin_mcu(j_decompress_ptr cinfo, struct stk_player *player)
{
    if (player->blocks == 0) {
        if (player->run == player->coefficients->run_count) {
            ERREXIT(cinfo, JERR_INPUT_EMPTY);
        }
        begin_run(player);
    }
    if (player->coefficients->interval > 0 && player->interval_left-- == 0) {
        memset(player->next.last_dc, 0, sizeof player->next.last_dc);
        player->interval_left = player->coefficients->interval - 1;
    }
}

/* Skips an MCU: only the DC of its blocks counts, for later blocks. */
static void skip_mcu(struct stk_player *player)
{
    const struct stk_coefficients *coefficients = player->coefficients;
    player->kernels->pass(&player->next, coefficients->component, coefficients->mcu_blocks);
    player->blocks -= coefficients->mcu_blocks;
}

static boolean play_mcu(j_decompress_ptr cinfo, JBLOCKROW *out)
{
    struct stk_player *player = (struct stk_player *)(void *)cinfo->entropy;
    const struct stk_coefficients *coefficients = player->coefficients;
    begin_mcu(cinfo, player);
    if (out && player->column >= player->first_column && player->column <= player->last_column) {
        for (unsigned i = 0; i < coefficients->mcu_blocks; i++) {
            stk_source_play(&player->next, player->kernels, out[i][0], coefficients->component[i]);
        }
        player->blocks -= coefficients->mcu_blocks;
    } else {
        skip_mcu(player);
    }
    player->column = player->column + 1 < player->columns ? player->column + 1 : 0;
    return TRUE;
}

/* Begins an MCU. Returns how many of the next `mcus` lie one behind the other. */
static unsigned begin_mcus(j_decompress_ptr cinfo, struct stk_player *player, unsigned mcus)
{
    begin_mcu(cinfo, player);
    uint32_t more = player->blocks / player->coefficients->mcu_blocks - 1;
    if (player->coefficients->interval > 0) {
        more = player->interval_left < more ? player->interval_left : more;
    }
    more = mcus - 1 < more ? mcus - 1 : more;
    player->interval_left -= player->coefficients->interval > 0 ? more : 0;
    player->blocks -= (more + 1) * player->coefficients->mcu_blocks;
    return more + 1;
}

static void take(j_decompress_ptr cinfo, struct stk_quad *quads,
                 const struct stk_block_slot *block_slots, unsigned mcus)
{
    struct stk_player *player = (struct stk_player *)(void *)cinfo->entropy;
    while (mcus > 0) {
        unsigned begun = begin_mcus(cinfo, player, mcus);
        unsigned blocks = begun * player->coefficients->mcu_blocks;
        player->kernels->take(&player->next, quads, block_slots, blocks);
        block_slots += blocks;
        mcus -= begun;
    }
}

static void skip(j_decompress_ptr cinfo, unsigned mcus)
{
    struct stk_player *player = (struct stk_player *)(void *)cinfo->entropy;
    for (; mcus > 0; mcus--) {
        begin_mcu(cinfo, player);
        skip_mcu(player);
    }
}

const struct stk_producer stk_player_producer = {.take = take, .skip = skip};

static void start_nothing(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

void stk_player_start(struct stk_player *player, const struct stk_coefficients *coefficients,
                      const struct stk_kernels *kernels, struct jpeg_decompress_struct *cinfo)
{
    *player = (struct stk_player){
        .pub = {.start_pass = start_nothing, .decode_mcu = play_mcu},
        .coefficients = coefficients,
        .kernels = kernels,
        .columns = cinfo->MCUs_per_row,
        .last_column = cinfo->MCUs_per_row,
    };
    cinfo->entropy = &player->pub;
}

void stk_player_crop(struct stk_player *player, const struct jpeg_decompress_struct *cinfo)
{
    player->first_column = cinfo->master->first_iMCU_col;
    player->last_column = cinfo->master->last_iMCU_col;
}
