/* Laying lines out: three channels by kernels, the rarer one and four plainly. */
#include "decode/resize/emit.h"

#include <string.h>

int stk_emit_open(struct stk_emit *emit, struct stk_workspace *workspace,
                  const struct stk_plan *plan, const struct stk_geometry *geometry,
                  const struct stk_target *target)
{
    bool has_tables = plan->type == STK_TYPE_F32 && plan->channels == 3;
    *emit = (struct stk_emit){
        .kernels = workspace->kernels,
        .plan = plan,
        .target = target,
        .width = geometry->width,
        .height = geometry->height,
        .clear_fourth = geometry->resized,
        .tables = has_tables ? stk_tables_get(workspace, plan->table) : NULL,
    };
    return has_tables && !emit->tables ? STK_DECODE_MEMORY : STK_DECODE_OK;
}

/* Eight pixels a step, which compilers put in few instructions. */
static void clear_fourth_bytes(uint8_t *out, const uint8_t *line, size_t pixels)
{
    size_t p = 0;
    for (; p + 8 <= pixels; p += 8) {
        uint32_t words[8];
        memcpy(words, line + 4 * p, sizeof words);
        for (size_t i = 0; i < 8; i++) {
            words[i] &= 0x00ffffff;
        }
        memcpy(out + 4 * p, words, sizeof words);
    }
    for (; p < pixels; p++) {
        memcpy(out + 4 * p, line + 4 * p, 3);
        out[4 * p + 3] = 0;
    }
}

static void four_bytes(uint8_t *out, const uint8_t *line, size_t pixels, bool clear_fourth)
{
    if (clear_fourth) {
        clear_fourth_bytes(out, line, pixels);
    } else {
        memcpy(out, line, 4 * pixels);
    }
}

static uint8_t sample(const struct stk_emit *emit, const uint8_t *line, size_t pixel,
                      uint32_t channel)
{
    return emit->clear_fourth && channel == 3 ? 0 : line[4 * pixel + channel];
}

/* Any number of channels, any layout: `step` samples from a pixel to the next. */
static void spread(const struct stk_emit *emit, uint8_t *const *out, const uint8_t *line,
                   size_t step)
{
    const struct stk_plan *plan = emit->plan;
    for (uint32_t c = 0; c < plan->channels; c++) {
        float *floats = (float *)(void *)out[c];
        for (size_t p = 0; p < emit->width; p++) {
            uint8_t value = sample(emit, line, p, c);
            if (plan->type == STK_TYPE_F32) {
                floats[p * step] = plan->table[256 * (size_t)c + value];
            } else {
                out[c][p * step] = value;
            }
        }
    }
}

static void three_planes(const struct stk_emit *emit, uint8_t *const *out, const uint8_t *line)
{
    const struct stk_plan *plan = emit->plan;
    float *const floats[3] = {(float *)(void *)out[0], (float *)(void *)out[1],
                              (float *)(void *)out[2]};
    if (plan->type == STK_TYPE_F32 && emit->target->streamed && emit->kernels->streamed_planes) {
        emit->kernels->streamed_planes(floats, line, emit->width, emit->tables);
    } else if (plan->type == STK_TYPE_F32) {
        emit->kernels->float_planes(floats, line, emit->width, emit->tables);
    } else {
        emit->kernels->planes(out, line, emit->width);
    }
}

static void emit_planes(const struct stk_emit *emit, uint8_t *row, const uint8_t *line)
{
    uint8_t *out[4];
    for (uint32_t c = 0; c < emit->plan->channels; c++) {
        out[c] = row + c * emit->target->plane_bytes;
    }
    if (emit->plan->channels == 3) {
        three_planes(emit, out, line);
    } else {
        spread(emit, out, line, 1);
    }
}

static void emit_pixels(const struct stk_emit *emit, uint8_t *row, const uint8_t *line)
{
    const struct stk_plan *plan = emit->plan;
    bool floats = plan->type == STK_TYPE_F32;
    uint8_t *out[4];
    if (plan->channels == 4 && !floats) {
        four_bytes(row, line, emit->width, emit->clear_fourth);
    } else if (plan->channels == 3 && floats) {
        emit->kernels->float_rgb((float *)(void *)row, line, emit->width, emit->tables);
    } else if (plan->channels == 3) {
        emit->kernels->rgb(row, line, emit->width);
    } else {
        for (uint32_t c = 0; c < plan->channels; c++) {
            out[c] = row + c * (floats ? sizeof(float) : 1);
        }
        spread(emit, out, line, plan->channels);
    }
}

void stk_emit_line(const struct stk_emit *emit, const uint8_t *line, uint32_t y)
{
    const struct stk_plan *plan = emit->plan;
    size_t at = plan->flip & STK_FLIP_VERTICAL ? emit->height - 1 - y : y;
    uint8_t *row = (uint8_t *)emit->target->data + at * emit->target->row_bytes;
    if (plan->layout == STK_LAYOUT_CHW) {
        emit_planes(emit, row, line);
    } else {
        emit_pixels(emit, row, line);
    }
}
