/* Makes a form of the coefficients that libjpeg has collected. They are final, so DC is no
 * difference. */
#include "decode/form/form_make.h"

#include <jpegint.h>

#include "decode/common/zigzag.h"

/* How the components' blocks make one MCU of all of them. */
struct array_reader {
    struct jpeg_decompress_struct *cinfo;
    JDIMENSION columns, rows; /* of MCUs */
    unsigned mcu_blocks;
    bool alone; /* one component: its blocks are the MCUs */
    JBLOCKARRAY arrays[STK_SCAN_COMPONENTS];
    int last_dc[STK_SCAN_COMPONENTS];
    struct stk_wide *wide;
};

static JDIMENSION parts(JDIMENSION whole, int part)
{
    return (whole + (JDIMENSION)part - 1) / (JDIMENSION)part;
}

static bool set_up(struct array_reader *reader)
{
    const struct jpeg_decompress_struct *cinfo = reader->cinfo;
    const jpeg_component_info *first = &cinfo->comp_info[0];
    reader->alone = cinfo->num_components == 1;
    if (cinfo->num_components > STK_SCAN_COMPONENTS) {
        return false;
    }
    for (int c = 0; c < cinfo->num_components; c++) {
        const jpeg_component_info *component = &cinfo->comp_info[c];
        reader->mcu_blocks += (unsigned)(component->h_samp_factor * component->v_samp_factor);
        if (!component->quant_table) {
            return false;
        }
    }
    reader->columns = parts(cinfo->image_width, cinfo->max_h_samp_factor * DCTSIZE);
    reader->rows = parts(cinfo->image_height, cinfo->max_v_samp_factor * DCTSIZE);
    if (reader->alone) {
        reader->mcu_blocks = 1;
        reader->columns = first->width_in_blocks;
        reader->rows = first->height_in_blocks;
    }
    return reader->mcu_blocks <= STK_MCU_BLOCKS;
}

static void add_value(struct array_reader *reader, struct stk_form_group *group, int value)
{
    if (value < -STK_FORM_LARGEST || value > STK_FORM_LARGEST) {
        *reader->wide++ = (struct stk_wide){group->count, value};
        value = value < 0 ? -STK_FORM_LARGEST : STK_FORM_LARGEST;
    }
    group->values[group->count++] = (int8_t)value;
}

static void add_block(struct array_reader *reader, struct stk_form_group *group, int component,
                      const JCOEF *block)
{
    uint64_t mask = 0;
    for (unsigned i = 1; i < STK_BLOCK_SIZE; i++) {
        int value = block[stk_zigzag[i]];
        if (value != 0) {
            mask |= UINT64_C(1) << i;
            add_value(reader, group, value);
        }
    }
    group->masks[group->blocks] = mask;
    group->dc[group->blocks++] = (int16_t)(block[0] - reader->last_dc[component]);
    reader->last_dc[component] = block[0];
}

static void add_mcu(struct array_reader *reader, struct stk_form_group *group, JDIMENSION column)
{
    for (int c = 0; c < reader->cinfo->num_components; c++) {
        const jpeg_component_info *component = &reader->cinfo->comp_info[c];
        JDIMENSION width = reader->alone ? 1 : (JDIMENSION)component->h_samp_factor;
        JDIMENSION height = reader->alone ? 1 : (JDIMENSION)component->v_samp_factor;
        for (JDIMENSION i = 0; i < width * height; i++) {
            add_block(reader, group, c, reader->arrays[c][i / width][column * width + i % width]);
        }
    }
}

/* The arrays hold whole MCUs, also at the edges. */
static void add_row(struct array_reader *reader, struct stk_form_group *group, JDIMENSION row)
{
    j_decompress_ptr cinfo = reader->cinfo;
    for (int c = 0; c < cinfo->num_components; c++) {
        JDIMENSION height = reader->alone ? 1 : (JDIMENSION)cinfo->comp_info[c].v_samp_factor;
        reader->arrays[c] = cinfo->mem->access_virt_barray(
            (j_common_ptr)cinfo, cinfo->coef->coef_arrays[c], row * height, height, FALSE);
    }
    for (JDIMENSION column = 0; column < reader->columns; column++) {
        add_mcu(reader, group, column);
    }
}

static void begin_group(struct array_reader *reader, struct stk_form_group *group)
{
    group->blocks = group->count = 0;
    reader->wide = group->wide;
    for (int c = 0; c < STK_SCAN_COMPONENTS; c++) {
        reader->last_dc[c] = 0;
    }
}

static bool add_groups(struct stk_packer *packer, struct array_reader *reader,
                       JDIMENSION group_rows)
{
    struct stk_form_group *group = &packer->group;
    size_t most = (size_t)group_rows * reader->columns * reader->mcu_blocks;
    if (!stk_form_group_reserve_blocks(group, most) ||
        !stk_form_group_reserve_values(group, most * STK_BLOCK_SIZE) ||
        !stk_form_group_reserve_wide(group, most * STK_BLOCK_SIZE)) {
        return false;
    }
    for (JDIMENSION row = 0; row < reader->rows; row++) {
        if (row % group_rows == 0) {
            begin_group(reader, group);
        }
        add_row(reader, group, row);
        if (row % group_rows == group_rows - 1 || row == reader->rows - 1) {
            reader->wide->at = STK_WIDE_END;
            if (!stk_packer_add(packer)) {
                return false;
            }
        }
    }
    return true;
}

bool stk_make_of_arrays(struct stk_packer *packer, struct stk_form_view *view,
                        struct jpeg_decompress_struct *cinfo, struct stk_form *out)
{
    struct array_reader reader = {.cinfo = cinfo};
    struct stk_setup setup;
    if (!cinfo->coef->coef_arrays || !set_up(&reader)) {
        return false;
    }
    stk_setup_make(&setup, cinfo);
    view->setup = setup.bytes;
    view->setup_bytes = setup.used;
    view->group_rows = stk_make_group_rows(cinfo->num_components);
    view->group_count = (reader.rows + view->group_rows - 1) / view->group_rows;
    size_t guess = view->source.file_bytes + view->source.file_bytes / 4;
    bool made = stk_packer_begin(packer, view, guess) &&
                add_groups(packer, &reader, view->group_rows) && stk_packer_end(packer, out);
    packer->view.setup = NULL;
    return made;
}

uint32_t stk_make_group_rows(int components)
{
    return components == 1 ? 4 : 2;
}
