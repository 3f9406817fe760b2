/* Makes a form of the parser's coefficients, whose runs do not end where groups do. */
#include "decode/form/form_make.h"

#include <string.h>

struct run_reader {
    const struct stk_coefficients *from;
    const struct stk_form_kernels *kernels;
    uint32_t run, left; /* the next one; blocks of this one */
    struct stk_gathering at;
    uint32_t mcu;
    unsigned last_dc[STK_SCAN_COMPONENTS]; /* before that MCU */
};

static void next_run(struct run_reader *reader)
{
    const struct stk_coefficient_run *run = &reader->from->runs[reader->run++];
    reader->left = run->blocks;
    reader->at.masks = run->masks;
    reader->at.values = reader->from->values + run->first_value;
    reader->at.wide = run->wide;
}

static bool gather(struct run_reader *reader, struct stk_form_group *group)
{
    struct stk_gathering *at = &reader->at;
    at->to_masks = group->masks;
    at->to_dc = group->dc;
    at->to_values = group->values;
    at->to_wide = group->wide;
    at->to_values_base = group->values;
    for (uint32_t wanted = group->blocks; wanted > 0;) {
        if (reader->left == 0 && reader->run == reader->from->run_count) {
            return false;
        }
        if (reader->left == 0) {
            next_run(reader);
        }
        uint32_t some = reader->left < wanted ? reader->left : wanted;
        reader->kernels->gather(at, some);
        reader->left -= some;
        wanted -= some;
    }
    at->to_wide->at = STK_WIDE_END;
    group->count = (uint32_t)(at->to_values - group->values);
    return true;
}

/* Sums the DC of one block of each MCU. */
static unsigned sum_dc(const int16_t *dc, uint32_t mcus, uint32_t step)
{
    unsigned sum = 0;
    for (size_t i = 0; i < mcus; i++) {
        sum += (unsigned)dc[i * step];
    }
    return sum;
}

/*
 * Between two places where differences begin anew, in the file or in the form: the first one of
 * each component becomes that to the block before it in the form, from which `given` it is.
 */
static void rebase(struct run_reader *reader, int16_t *dc, uint32_t mcus, bool begins, bool grouped)
{
    const struct stk_coefficients *from = reader->from;
    unsigned sums[STK_SCAN_COMPONENTS], change[STK_SCAN_COMPONENTS];
    bool changed[STK_SCAN_COMPONENTS] = {false};
    for (int c = 0; c < STK_SCAN_COMPONENTS; c++) {
        sums[c] = begins ? 0 : reader->last_dc[c];
        change[c] = sums[c] - (grouped ? 0 : reader->last_dc[c]);
    }
    for (uint32_t i = 0; i < from->mcu_blocks; i++) {
        sums[from->component[i]] += sum_dc(dc + i, mcus, from->mcu_blocks);
    }
    for (uint32_t i = 0; i < from->mcu_blocks; i++) {
        unsigned c = from->component[i];
        dc[i] = (int16_t)((unsigned)dc[i] + (changed[c] ? 0 : change[c]));
        changed[c] = true;
    }
    memcpy(reader->last_dc, sums, sizeof sums);
}

/* DC of a group as groups have it: from 0 on, and through restart intervals. */
static void rebase_all(struct run_reader *reader, const struct stk_form_group *group)
{
    uint32_t step = reader->from->mcu_blocks, interval = reader->from->interval;
    uint32_t mcus = group->blocks / step, done = 0;
    while (done < mcus) {
        uint32_t into = interval ? reader->mcu % interval : reader->mcu;
        uint32_t some = interval && interval - into < mcus - done ? interval - into : mcus - done;
        rebase(reader, group->dc + (size_t)done * step, some, into == 0, done == 0);
        reader->mcu += some;
        done += some;
    }
}

static bool add_groups(struct stk_packer *packer, struct run_reader *reader, uint32_t group_mcus,
                       uint32_t mcus)
{
    struct stk_form_group *group = &packer->group;
    uint32_t most = group_mcus * reader->from->mcu_blocks;
    if (!stk_form_group_reserve_blocks(group, most) ||
        !stk_form_group_reserve_values(group, (size_t)most * STK_BLOCK_SIZE) ||
        !stk_form_group_reserve_wide(group, (size_t)most * STK_BLOCK_SIZE)) {
        return false;
    }
    while (mcus > 0) {
        uint32_t some = group_mcus < mcus ? group_mcus : mcus;
        group->blocks = some * reader->from->mcu_blocks;
        if (!gather(reader, group)) {
            return false;
        }
        rebase_all(reader, group);
        if (!stk_packer_add(packer)) {
            return false;
        }
        mcus -= some;
    }
    return true;
}

bool stk_make_of_scan(struct stk_packer *packer, struct stk_form_view *view,
                      const struct stk_coefficients *coefficients,
                      const struct jpeg_decompress_struct *cinfo, struct stk_form *out)
{
    struct run_reader reader = {.from = coefficients, .kernels = packer->kernels};
    reader.at.values_base = coefficients->values;
    view->group_rows = stk_make_group_rows(cinfo->num_components);
    view->group_count = (cinfo->MCU_rows_in_scan + view->group_rows - 1) / view->group_rows;
    size_t guess = view->source.file_bytes + view->source.file_bytes / 8;
    return stk_packer_begin(packer, view, guess) &&
           add_groups(packer, &reader, view->group_rows * cinfo->MCUs_per_row,
                      cinfo->MCU_rows_in_scan * cinfo->MCUs_per_row) &&
           stk_packer_end(packer, out);
}
