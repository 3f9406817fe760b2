/* Rows of units for libjpeg's main controller. */
#include "decode/stages/units.h"

static struct stk_units *units_of(j_decompress_ptr cinfo)
{
    return (struct stk_units *)(void *)cinfo->idct;
}

/* One by one by libjpeg. */
static void transform_singly(j_decompress_ptr cinfo, jpeg_component_info *component,
                             JSAMPARRAY rows, JDIMENSION column, unsigned count,
                             const struct stk_quad *quad)
{
    const struct stk_units *units = units_of(cinfo);
    inverse_DCT_method_ptr transform = units->pub.inverse_DCT[component->component_index];
    for (unsigned b = 0; b < count; b++) {
        _Alignas(64) JBLOCK block = {0};
        units->kernels->expand(block, quad->masks[b], quad->values[b]);
        for (unsigned i = 0; quad->has_rest && i < DCTSIZE2; i++) {
            block[i] = (int16_t)(block[i] + quad->rest[i / 8][8 * b + i % 8]);
        }
        block[0] = quad->dc[b];
        transform(cinfo, component, block, rows, column + b * DCTSIZE);
    }
}

/* Returns true if the component has rows so far below: the last MCUs may have empty ones. */
static bool is_inside(j_decompress_ptr cinfo, const jpeg_component_info *component, unsigned number)
{
    return cinfo->input_iMCU_row + 1 < cinfo->total_iMCU_rows ||
           number < (unsigned)component->last_row_height;
}

/* A row of blocks of MCUs from `column` on. */
static void transform_row(j_decompress_ptr cinfo, JSAMPIMAGE out, const struct stk_unit_row *row,
                          const struct stk_quad *quads, uint32_t column, unsigned mcus)
{
    const struct stk_units *units = units_of(cinfo);
    jpeg_component_info *component = cinfo->cur_comp_info[row->component];
    JSAMPARRAY rows = out[component->component_index] + row->number * DCTSIZE;
    JDIMENSION at = (column - units->first_column) * row->width * DCTSIZE;
    unsigned count = mcus * row->width;
    if (column + mcus == units->columns) {
        count -= row->width - (unsigned)component->last_col_width;
    }
    for (unsigned i = 0; i < count; i += 4) {
        const struct stk_quad *quad = &quads[row->quad + i / 4];
        unsigned here = count - i < 4 ? count - i : 4;
        JDIMENSION to = at + i * DCTSIZE;
        if (!units->kernels->idct(rows, to, here, quad, component->quant_table->quantval)) {
            transform_singly(cinfo, component, rows, to, here, quad);
        }
    }
}

/* Four empty blocks each. */
static void empty(struct stk_quad *quads, unsigned count)
{
    static const int8_t nothing[STK_VALUE_SLACK];
    for (unsigned i = 0; i < count; i++) {
        for (unsigned b = 0; b < 4; b++) {
            quads[i].masks[b] = 0;
            quads[i].values[b] = nothing;
            quads[i].dc[b] = 0;
        }
    }
}

static void play_together(j_decompress_ptr cinfo, JSAMPIMAGE out, uint32_t column, unsigned mcus)
{
    const struct stk_units *units = units_of(cinfo);
    struct stk_quad quads[STK_MCU_BLOCKS];
    unsigned count = (unsigned)cinfo->blocks_in_MCU;
    if (mcus < STK_UNITS_TOGETHER) {
        empty(quads, count);
    }
    for (unsigned i = 0; i < count; i++) {
        quads[i].has_rest = false;
    }
    units->producer->take(cinfo, quads, units->block_slots, mcus);
    for (unsigned i = 0; i < units->row_count; i++) {
        const struct stk_unit_row *row = &units->rows[i];
        const jpeg_component_info *component = cinfo->cur_comp_info[row->component];
        if (component->component_needed && is_inside(cinfo, component, row->number)) {
            transform_row(cinfo, out, row, quads, column, mcus);
        }
    }
}

static int end_row(j_decompress_ptr cinfo)
{
    cinfo->output_iMCU_row++;
    if (++cinfo->input_iMCU_row < cinfo->total_iMCU_rows) {
        return JPEG_ROW_COMPLETED;
    }
    cinfo->inputctl->finish_input_pass(cinfo);
    return JPEG_SCAN_COMPLETED;
}

/* A row of MCUs: samples of those that are wanted. */
static int decompress_row(j_decompress_ptr cinfo, JSAMPIMAGE out)
{
    const struct stk_units *units = units_of(cinfo);
    uint32_t column = units->first_column;
    units->producer->skip(cinfo, column);
    while (column < units->end_column) {
        unsigned left = units->end_column - column;
        unsigned mcus = left < STK_UNITS_TOGETHER ? left : STK_UNITS_TOGETHER;
        play_together(cinfo, out, column, mcus);
        column += mcus;
    }
    units->producer->skip(cinfo, units->columns - column);
    return end_row(cinfo);
}

/* The slots of the block of an MCU that stands at `column` of a row, in each of the MCUs. */
static void seat_block(struct stk_units *units, const struct stk_unit_row *row, unsigned block,
                       unsigned column, unsigned mcu_blocks)
{
    for (unsigned mcu = 0; mcu < STK_UNITS_TOGETHER; mcu++) {
        unsigned place = mcu * row->width + column;
        units->block_slots[mcu * mcu_blocks + block] = (struct stk_block_slot){
            .quad = (uint8_t)(row->quad + place / 4),
            .place = (uint8_t)(place % 4),
            .component = row->component,
        };
    }
}

static void lay_out(struct stk_units *units, const struct jpeg_decompress_struct *cinfo)
{
    unsigned block = 0;
    units->row_count = 0;
    for (int c = 0; c < cinfo->comps_in_scan; c++) {
        const jpeg_component_info *component = cinfo->cur_comp_info[c];
        for (int y = 0; y < component->MCU_height; y++) {
            struct stk_unit_row *row = &units->rows[units->row_count++];
            *row = (struct stk_unit_row){
                .component = (uint8_t)c,
                .number = (uint8_t)y,
                .width = (uint8_t)component->MCU_width,
                .quad = (uint8_t)block,
            };
            for (unsigned x = 0; x < row->width; x++) {
                seat_block(units, row, block++, x, (unsigned)cinfo->blocks_in_MCU);
            }
        }
    }
}

/* One scan of all components, of which each row of units is one row of MCUs. */
static bool is_known(const struct jpeg_decompress_struct *cinfo)
{
    bool known = cinfo->dct_method == JDCT_ISLOW && cinfo->scale_denom == 1 &&
                 !cinfo->inputctl->has_multiple_scans &&
                 cinfo->comps_in_scan == cinfo->num_components &&
                 (cinfo->comps_in_scan > 1 || cinfo->cur_comp_info[0]->v_samp_factor == 1);
    for (int c = 0; known && c < cinfo->comps_in_scan; c++) {
        known = cinfo->cur_comp_info[c]->component_needed &&
                cinfo->cur_comp_info[c]->quant_table != NULL;
    }
    return known;
}

void stk_units_start(struct stk_units *units, const struct stk_producer *producer,
                     const struct stk_kernels *kernels, struct jpeg_decompress_struct *cinfo)
{
    uint32_t end = cinfo->master->last_iMCU_col + 1;
    if (!kernels->idct || !is_known(cinfo)) {
        return;
    }
    units->pub = *cinfo->idct;
    units->producer = producer;
    units->kernels = kernels;
    units->columns = cinfo->MCUs_per_row;
    units->first_column = cinfo->master->first_iMCU_col;
    units->end_column = end < units->columns ? end : units->columns;
    lay_out(units, cinfo);
    cinfo->idct = &units->pub;
    cinfo->coef->decompress_data = decompress_row;
}
