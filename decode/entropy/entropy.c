/* Sets up the parser from libjpeg's description of a scan. */
#include "decode/entropy/entropy.h"

#include <stdlib.h>
#include <string.h>

#include "decode/entropy/parse.h"
#include "decode/entropy/scan.h"
#include "decode/entropy/scan_player.h"

#define CURSORS 3
/* A shorter part is not worth a cursor of its own. */
#define LEAST_BYTES 1500
/* Bytes of each kind of memory that stay from one image to the next: enough for a few megapixels.
 */
#define KEPT_BYTES ((size_t)16 << 20)

struct stk_entropy {
    const struct stk_kernels *kernels;
    bool off;
    struct stk_table_cache *tables;
    struct stk_scan scan;
    struct stk_player player;
    struct jpeg_entropy_decoder idle, *theirs; /* our decoder before a scan; libjpeg's own */
};

static void choose_cursors(struct stk_scan *scan)
{
    const char *wish = getenv("STOKER_CURSORS");
    bool sound = wish && wish[0] >= '1' && wish[0] <= '0' + STK_MOST_CURSORS && !wish[1];
    scan->cursor_count = sound ? (unsigned)(wish[0] - '0') : CURSORS;
    scan->least_bytes = sound ? 1 : LEAST_BYTES;
}

struct stk_entropy *stk_entropy_new(const struct stk_kernels *kernels)
{
    struct stk_entropy *entropy = calloc(1, sizeof *entropy);
    const char *wish = getenv("STOKER_ENTROPY");
    if (entropy) {
        entropy->kernels = kernels;
        entropy->off = wish && strcmp(wish, "libjpeg") == 0;
        entropy->scan.lockstep = kernels->lockstep;
        choose_cursors(&entropy->scan);
        entropy->tables = stk_table_cache_new(kernels->wide_tables);
    }
    if (entropy && !entropy->tables) {
        free(entropy);
        return NULL;
    }
    return entropy;
}

void stk_entropy_free(struct stk_entropy *entropy)
{
    if (entropy) {
        stk_table_cache_free(entropy->tables);
        stk_scan_free(&entropy->scan, 0);
        free(entropy);
    }
}

unsigned stk_entropy_cursors(const struct stk_entropy *entropy)
{
    return entropy->scan.useful;
}

void stk_entropy_rest(struct stk_entropy *entropy)
{
    stk_scan_free(&entropy->scan, KEPT_BYTES);
}

void stk_entropy_stand_in(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo,
                          void (*start)(j_decompress_ptr cinfo))
{
    if (cinfo->entropy != &entropy->player.pub && cinfo->entropy != &entropy->idle) {
        entropy->theirs = cinfo->entropy;
    }
    entropy->idle.start_pass = start;
    cinfo->entropy = &entropy->idle;
}

void stk_entropy_step_back(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo)
{
    cinfo->entropy = entropy->theirs;
    cinfo->entropy->start_pass(cinfo);
}

bool stk_entropy_knows(const struct jpeg_decompress_struct *cinfo)
{
    return !cinfo->arith_code && !cinfo->progressive_mode && cinfo->data_precision == 8 &&
           cinfo->Ss == 0 && cinfo->Se == DCTSIZE2 - 1 && cinfo->Ah == 0 && cinfo->Al == 0 &&
           cinfo->unread_marker == 0 && cinfo->blocks_in_MCU <= STK_MCU_BLOCKS;
}

static const struct stk_tables_pair *find_tables(struct stk_entropy *entropy,
                                                 const struct jpeg_decompress_struct *cinfo,
                                                 const jpeg_component_info *component)
{
    struct stk_code dc, ac;
    unsigned dc_number = (unsigned)component->dc_tbl_no, ac_number = (unsigned)component->ac_tbl_no;
    if (dc_number >= NUM_HUFF_TBLS || ac_number >= NUM_HUFF_TBLS) {
        return NULL;
    }
    const JHUFF_TBL *dc_table = cinfo->dc_huff_tbl_ptrs[dc_number];
    const JHUFF_TBL *ac_table = cinfo->ac_huff_tbl_ptrs[ac_number];
    if (!dc_table || !ac_table ||
        !stk_code_make(&dc, dc_table->bits + 1, dc_table->huffval, true) ||
        !stk_code_make(&ac, ac_table->bits + 1, ac_table->huffval, false)) {
        return NULL;
    }
    return stk_table_cache_get(entropy->tables, &dc, &ac);
}

static bool find_blocks(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo)
{
    struct stk_scan *scan = &entropy->scan;
    const struct stk_tables_pair *of_component[STK_SCAN_COMPONENTS] = {NULL};
    for (int i = 0; i < cinfo->comps_in_scan; i++) {
        of_component[i] = find_tables(entropy, cinfo, cinfo->cur_comp_info[i]);
        if (!of_component[i]) {
            return false;
        }
    }
    scan->coefficients.mcu_blocks = (uint32_t)cinfo->blocks_in_MCU;
    for (int i = 0; i < cinfo->blocks_in_MCU; i++) {
        scan->pairs[i] = of_component[cinfo->MCU_membership[i]];
        scan->coefficients.component[i] = (uint8_t)cinfo->MCU_membership[i];
    }
    return true;
}

/*
 * Returns the MCUs of so many lines. Upsampling reads a row below, for which libjpeg may want
 * another row of units.
 */
static uint32_t mcus_of(const struct jpeg_decompress_struct *cinfo, uint32_t lines)
{
    uint32_t unit = (uint32_t)cinfo->max_v_samp_factor * DCTSIZE;
    uint64_t rows = (lines + unit - 1) / unit +
                    (uint64_t)(lines % unit == 0 || lines % unit > unit - unit / DCTSIZE);
    if (cinfo->comps_in_scan == 1) {
        rows *= (uint64_t)cinfo->cur_comp_info[0]->v_samp_factor;
    }
    rows = rows < cinfo->MCU_rows_in_scan ? rows : cinfo->MCU_rows_in_scan;
    return (uint32_t)rows * cinfo->MCUs_per_row;
}

bool stk_entropy_parse(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo,
                       uint32_t lines)
{
    struct stk_scan *scan = &entropy->scan;
    uint64_t mcus = (uint64_t)cinfo->MCUs_per_row * cinfo->MCU_rows_in_scan;
    if (entropy->off || !stk_entropy_knows(cinfo) || mcus > UINT32_MAX / STK_MCU_BLOCKS ||
        !find_blocks(entropy, cinfo)) {
        return false;
    }
    scan->more_scans = cinfo->inputctl->has_multiple_scans;
    scan->mcus = (uint32_t)mcus;
    scan->wanted = scan->more_scans ? scan->mcus : mcus_of(cinfo, lines);
    scan->coefficients.interval = cinfo->restart_interval;
    return stk_scan_parse(scan, cinfo->src->next_input_byte, cinfo->src->bytes_in_buffer);
}

const struct stk_coefficients *stk_entropy_coefficients(const struct stk_entropy *entropy)
{
    return &entropy->scan.coefficients;
}

void stk_entropy_play(struct stk_entropy *entropy, struct jpeg_decompress_struct *cinfo)
{
    stk_player_start(&entropy->player, &entropy->scan.coefficients, entropy->kernels, cinfo);
    cinfo->src->next_input_byte += entropy->scan.end;
    cinfo->src->bytes_in_buffer -= entropy->scan.end;
}

void stk_entropy_crop(struct stk_entropy *entropy, const struct jpeg_decompress_struct *cinfo)
{
    stk_player_crop(&entropy->player, cinfo);
}
