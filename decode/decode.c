/* The entry points: a JPEG or an image through the passes to the target. */
#include "decode/decode.h"

#include <stdlib.h>

#include "decode/common/limits.h"
#include "decode/decoder.h"
#include "decode/form/form.h"
#include "decode/jpeg/jpeg.h"
#include "decode/resize/emit.h"
#include "decode/resize/geometry.h"
#include "decode/resize/grey.h"
#include "decode/resize/passes.h"
#include "decode/resize/rows.h"
#include "decode/resize/turn.h"

struct stk_decoder *stk_decoder_new(void)
{
    struct stk_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder) {
        decoder->workspace.kernels = stk_kernels_select();
    }
    return decoder;
}

void stk_decoder_free(struct stk_decoder *decoder)
{
    if (!decoder) {
        return;
    }
    stk_jpeg_free(decoder->jpeg);
    stk_workspace_free(&decoder->workspace);
    free(decoder);
}

const char *stk_decode_simd(void)
{
    return stk_kernels_select()->name;
}

static int need_jpeg(struct stk_decoder *decoder)
{
    if (!decoder->jpeg) {
        decoder->jpeg = stk_jpeg_new(decoder->workspace.kernels);
    }
    return decoder->jpeg ? STK_DECODE_OK : STK_DECODE_MEMORY;
}

static int read_header(struct stk_decoder *decoder, const void *bytes, size_t size, size_t end,
                       struct stk_jpeg_info *info)
{
    int result = need_jpeg(decoder);
    result = result ? result : stk_jpeg_header(decoder->jpeg, bytes, size, info);
    if (!result) {
        stk_jpeg_end(decoder->jpeg, bytes, size, end, info);
    }
    return result;
}

/* Ends what the JPEG began, and returns the result. */
static int stop(struct stk_decoder *decoder, int result)
{
    if (decoder->jpeg) {
        stk_jpeg_stop(decoder->jpeg);
    }
    return result;
}

int stk_decode_examine(struct stk_decoder *decoder, const void *bytes, size_t size,
                       struct stk_jpeg_info *out)
{
    return stop(decoder, read_header(decoder, bytes, size, 0, out));
}

/* `straight`: libjpeg makes the pixels, grey ones too. */
static int check_file(const struct stk_jpeg_info *info, uint32_t channels, bool straight)
{
    bool grey = info->color == STK_COLOR_GREY && info->components == 1;
    bool ycbcr = info->color == STK_COLOR_YCBCR && (channels != 1 || straight);
    bool rgb = info->color == STK_COLOR_RGB && channels != 1;
    if (info->precision != 8 || !(grey || (info->components == 3 && (ycbcr || rgb)))) {
        return STK_DECODE_UNSUPPORTED;
    }
    return info->end ? STK_DECODE_OK : STK_DECODE_CORRUPT;
}

static int check_layout(const struct stk_plan *plan, bool straight)
{
    return plan->layout == STK_LAYOUT_BGR && !straight ? STK_DECODE_ARGUMENT : STK_DECODE_OK;
}

/* Rows that libjpeg can write where they go: whole ones, in a layout of its own. */
static bool is_straight(const struct stk_plan *plan, const struct stk_geometry *geometry,
                        const struct stk_jpeg_info *info)
{
    return plan->layout != STK_LAYOUT_CHW && plan->type == STK_TYPE_U8 && !geometry->pass_x &&
           !geometry->pass_y && geometry->crop.width == info->width;
}

static enum stk_pixel pixel_of(const struct stk_plan *plan)
{
    if (plan->channels == 1) {
        return STK_PIXEL_LUMA;
    }
    if (plan->channels == 4) {
        return STK_PIXEL_RGBX;
    }
    return plan->layout == STK_LAYOUT_BGR ? STK_PIXEL_BGR : STK_PIXEL_RGB;
}

static int decode_straight(struct stk_decoder *decoder, const struct stk_plan *plan,
                           const struct stk_geometry *geometry, const struct stk_target *target)
{
    uint8_t *rows[STK_BAND_ROWS];
    uint32_t done = 0, indent, pixels, height = geometry->height;
    int result = stk_jpeg_start(decoder->jpeg, geometry->crop, pixel_of(plan), &indent, &pixels);
    while (result >= 0 && done < height) {
        uint32_t count = height - done < STK_BAND_ROWS ? height - done : STK_BAND_ROWS;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t y = plan->flip & STK_FLIP_VERTICAL ? height - 1 - done - i : done + i;
            rows[i] = (uint8_t *)target->data + y * target->row_bytes;
        }
        result = stk_jpeg_read(decoder->jpeg, rows, count);
        done += result > 0 ? (uint32_t)result : 0;
    }
    return result < 0 ? result : STK_DECODE_OK;
}

/* The header has been read. The geometry is that of the plan, whose turn it has in it. */
static int run(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
               const struct stk_plan *plan, const struct stk_geometry *geometry,
               const struct stk_target *target)
{
    struct stk_passes passes;
    struct stk_rows rows;
    struct stk_emit emit;
    bool straight = is_straight(plan, geometry, info);
    int result = check_layout(plan, straight);
    if (plan->scale && !(straight && geometry->crop.height == info->height)) {
        return STK_DECODE_UNSUPPORTED;
    }
    result = result ? result : check_file(info, plan->channels, straight);
    if (!result && straight) {
        return decode_straight(decoder, plan, geometry, target);
    }
    result = result ? result : stk_passes_prepare(&passes, &decoder->workspace, geometry);
    result = result ? result
                    : stk_rows_open_jpeg(&rows, &decoder->workspace, decoder->jpeg, passes.region,
                                         passes.slack);
    result = result ? result : stk_emit_open(&emit, &decoder->workspace, plan, geometry, target);
    return result ? result : stk_passes_run(&passes, &rows, &emit);
}

/* Lays out the columns of an image of four bytes a pixel, of this geometry, as the rows of a plan's
 * result. `band` has room for STK_TURN_COLUMNS of them. */
static int lay_out(struct stk_decoder *decoder, const uint32_t *pixels, uint32_t *band,
                   const struct stk_geometry *geometry, const struct stk_plan *plan,
                   const struct stk_target *target)
{
    uint32_t width = geometry->width, height = geometry->height;
    struct stk_geometry turned = *geometry;
    struct stk_emit emit;
    turned.width = height;
    turned.height = width;
    int result = check_layout(plan, false);
    result = result ? result : stk_emit_open(&emit, &decoder->workspace, plan, &turned, target);
    for (uint32_t x = 0; x < width && !result; x += STK_TURN_COLUMNS) {
        uint32_t count = width - x < STK_TURN_COLUMNS ? width - x : STK_TURN_COLUMNS;
        stk_turn_columns(pixels, width, height, x, count, band);
        for (uint32_t i = 0; i < count; i++) {
            stk_emit_line(&emit, (const uint8_t *)(band + (size_t)i * height), x + i);
        }
    }
    return result;
}

/* Makes the result of a plan with its axes exchanged, and exchanges them. */
static int run_exchanged(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                         const struct stk_plan *plan, const struct stk_geometry *geometry,
                         const struct stk_target *target)
{
    uint32_t width = geometry->width, height = geometry->height;
    size_t pixels = (size_t)width * height;
    struct stk_plan part = *plan, rest = *plan;
    struct stk_geometry lying = *geometry;
    lying.resized = false; /* lay_out() clears the fourth bytes */
    part.channels = 4;
    part.layout = STK_LAYOUT_HWC;
    part.type = STK_TYPE_U8;
    rest.flip = 0; /* done in the part */
    uint32_t *memory = malloc(4 * (pixels + (size_t)STK_TURN_COLUMNS * height) + STK_ROW_SLACK);
    if (!memory) {
        return STK_DECODE_MEMORY;
    }
    const struct stk_target whole = {memory, .row_bytes = 4 * (size_t)width, .bytes = 4 * pixels};
    int result = run(decoder, info, &part, &lying, &whole);
    result = result ? result : lay_out(decoder, memory, memory + pixels, geometry, &rest, target);
    free(memory);
    return result;
}

/* The header has been read. */
static int decode(struct stk_decoder *decoder, const struct stk_jpeg_info *header,
                  const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_geometry geometry;
    struct stk_plan part = *plan;
    struct stk_jpeg_info info = *header;
    int result = plan->scale ? stk_jpeg_scale(decoder->jpeg, plan->scale, &info) : STK_DECODE_OK;
    if (!result) {
        result = plan->turn ? stk_turn_geometry(&part, target, info.width, info.height, &geometry)
                            : stk_geometry_make(plan, target, info.width, info.height, &geometry);
    }
    if (result) {
        return result;
    }
    return plan->turn & STK_EXCHANGE_AXES ? run_exchanged(decoder, &info, &part, &geometry, target)
                                          : run(decoder, &info, &part, &geometry, target);
}

int stk_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
               const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_jpeg_info info;
    int result = read_header(decoder, bytes, size, plan->end, &info);
    return stop(decoder, result ? result : decode(decoder, &info, plan, target));
}

int stk_decode_keep(struct stk_decoder *decoder, const void *bytes, size_t size,
                    const struct stk_plan *plan, const struct stk_target *target,
                    struct stk_form *out)
{
    struct stk_jpeg_info info;
    *out = (struct stk_form){NULL, 0};
    int result = read_header(decoder, bytes, size, plan->end, &info);
    if (!result) {
        stk_jpeg_keep(decoder->jpeg);
        result = decode(decoder, &info, plan, target);
    }
    if (!result) {
        *out = stk_jpeg_form(decoder->jpeg);
    }
    return stop(decoder, result);
}

int stk_decode_form(struct stk_decoder *decoder, const void *data, size_t bytes,
                    const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_jpeg_info info;
    int result = need_jpeg(decoder);
    result = result ? result : stk_jpeg_header_of_form(decoder->jpeg, data, bytes, &info);
    return stop(decoder, result ? result : decode(decoder, &info, plan, target));
}

int stk_decode_examine_form(const void *data, size_t bytes, struct stk_form_source *out)
{
    struct stk_form_view view;
    int result = stk_form_open(&view, data, bytes);
    if (!result) {
        *out = view.source;
    }
    return result;
}

static bool image_is_sound(const struct stk_image *image, uint32_t channels)
{
    uint32_t own = image->channels;
    bool fits = own == channels || (own == 1 && channels > 1) || (own == 3 && channels == 4) ||
                (own == 4 && channels == 3);
    bool there = image->rows || (image->data && image->row_bytes >= (size_t)image->width * own);
    return there && (own == 1 || own == 3 || own == 4) && fits && image->unused <= (own == 4) &&
           image->width <= STK_LIMIT_OUTPUT;
}

int stk_transform(struct stk_decoder *decoder, const struct stk_image *image,
                  const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_geometry geometry;
    struct stk_passes passes;
    struct stk_rows rows;
    struct stk_emit emit;
    int result = image_is_sound(image, plan->channels) && !plan->turn && !plan->scale
                     ? check_layout(plan, false)
                     : STK_DECODE_ARGUMENT;
    result =
        result ? result : stk_geometry_make(plan, target, image->width, image->height, &geometry);
    if (!result && stk_grey_fits(image, plan, &geometry)) {
        return stk_grey_run(&decoder->workspace, image, plan, &geometry, target);
    }
    result = result ? result : stk_passes_prepare(&passes, &decoder->workspace, &geometry);
    result = result ? result
                    : stk_rows_open_image(&rows, &decoder->workspace, image, passes.region,
                                          passes.slack, passes.takes_three);
    result = result ? result : stk_emit_open(&emit, &decoder->workspace, plan, &geometry, target);
    if (result) {
        return result;
    }
    emit.clear_fourth = geometry.resized && (image->channels != 4 || image->unused);
    return stk_passes_run(&passes, &rows, &emit);
}

void stk_decode_table(float table[256], const float *mean, const float *std)
{
    for (int i = 0; i < 256; i++) {
        float value = (float)i / 255.0f;
        if (mean) {
            value -= *mean;
        }
        if (std) {
            value /= *std;
        }
        table[i] = value;
    }
}
