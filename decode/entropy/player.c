/* MCU by MCU from coefficients to libjpeg. */
#include "decode/entropy/player.h"

#include <jerror.h>

#include "decode/entropy/zigzag.h"

static void begin_run(struct stk_player *player)
{
    const struct stk_run *run = &player->coefficients->runs[player->run++];
    player->blocks = run->blocks;
    player->masks = run->masks;
    player->values = player->coefficients->values + run->first_value;
    player->wide = run->wide;
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
        memset(player->last_dc, 0, sizeof player->last_dc);
        player->interval_left = player->coefficients->interval - 1;
    }
}

static uint32_t index_of(const struct stk_player *player, const int8_t *value)
{
    return (uint32_t)(value - player->coefficients->values);
}

/* The value at that place of the mask's ones. */
static unsigned position_of(uint64_t mask, unsigned place)
{
    for (; place > 0; place--) {
        mask &= mask - 1;
    }
    return (unsigned)__builtin_ctzll(mask);
}

/* Puts values in their places that no byte holds. */
static void put_wide(struct stk_player *player, int16_t *block, uint64_t mask, uint32_t first,
                     uint32_t end)
{
    for (; player->wide->at < end; player->wide++) {
        unsigned position = position_of(mask, player->wide->at - first);
        block[stk_zigzag[position]] = (int16_t)player->wide->value;
    }
}

static void play_block(struct stk_player *player, int16_t *block, unsigned component)
{
    uint64_t mask = *player->masks++;
    const int8_t *values = player->values;
    player->values += player->kernels->expand(block, mask, values);
    uint32_t end = index_of(player, player->values);
    int dc = block[0];
    if (__builtin_expect(player->wide->at < end, 0)) {
        if (player->wide->at == index_of(player, values) && (mask & 1)) {
            dc = player->wide->value;
        }
        put_wide(player, block, mask, index_of(player, values), end);
    }
    player->last_dc[component] += (unsigned)dc;
    block[0] = (int16_t)player->last_dc[component];
}

/* In plain operations: where there is no instruction for it, compilers call a function. */
static unsigned count_ones(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

/* Of a block that nobody looks at only DC counts, for the next one. */
static void skip_block(struct stk_player *player, unsigned component)
{
    uint64_t mask = *player->masks++;
    int dc = mask & 1 ? *player->values : 0;
    uint32_t first = index_of(player, player->values);
    player->values += count_ones(mask);
    for (; player->wide->at < index_of(player, player->values); player->wide++) {
        dc = player->wide->at == first && (mask & 1) ? player->wide->value : dc;
    }
    player->last_dc[component] += (unsigned)dc;
}

static boolean play_mcu(j_decompress_ptr cinfo, JBLOCKROW *out)
{
    struct stk_player *player = (struct stk_player *)(void *)cinfo->entropy;
    const struct stk_coefficients *coefficients = player->coefficients;
    begin_mcu(cinfo, player);
    bool seen =
        out && player->column >= player->first_column && player->column <= player->last_column;
    for (unsigned i = 0; i < coefficients->mcu_blocks; i++) {
        if (seen) {
            play_block(player, out[i][0], coefficients->component[i]);
        } else {
            skip_block(player, coefficients->component[i]);
        }
    }
    player->blocks -= coefficients->mcu_blocks;
    player->column = player->column + 1 < player->columns ? player->column + 1 : 0;
    return TRUE;
}

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
