/* The entry points: a JPEG or an image through the passes to the target. */
#include "decode/decode.h"

#include <stdlib.h>

#include "decode/common/limits.h"
#include "decode/decoder.h"
#include "decode/form/form.h"
#include "decode/resize/emit.h"
#include "decode/resize/geometry.h"
#include "decode/resize/grey.h"
#include "decode/resize/passes.h"
#include "decode/resize/rows.h"
#include "decode/resize/turn.h"

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

int stk_decode_examine(struct stk_decoder *decoder, const void *bytes, size_t size,
                       struct stk_jpeg_info *out)
{
    int result = read_header(decoder, bytes, size, 0, out);
    if (decoder->jpeg) {
        stk_jpeg_stop(decoder->jpeg);
    }
    return result;
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

/* The header has been read. The plan has no turn. */
static int decode_unturned(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                           const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_geometry geometry;
    struct stk_passes passes;
    struct stk_rows rows;
    struct stk_emit emit;
    int result = stk_geometry_make(plan, target, info->width, info->height, &geometry);
    bool straight = !result && is_straight(plan, &geometry, info);
    result = result ? result : check_layout(plan, straight);
    result = result ? result : check_file(info, plan->channels, straight);
    if (!result && straight) {
        return decode_straight(decoder, plan, &geometry, target);
    }
    result = result ? result : stk_passes_prepare(&passes, &decoder->workspace, &geometry);
    result = result ? result
                    : stk_rows_open_jpeg(&rows, &decoder->workspace, decoder->jpeg, passes.region,
                                         passes.slack);
    result = result ? result : stk_emit_open(&emit, &decoder->workspace, plan, &geometry, target);
    return result ? result : stk_passes_run(&passes, &rows, &emit);
}

static void set_crop(struct stk_plan *plan, struct stk_region region)
{
    plan->crop[0] = (int32_t)region.left;
    plan->crop[1] = (int32_t)region.top;
    plan->crop[2] = (int32_t)(region.left + region.width);
    plan->crop[3] = (int32_t)(region.top + region.height);
}

/* Makes the image of a turned plan's crop, of four bytes a pixel. There is memory for it, behind
 * memory for what is still to be turned. */
static int make_turned(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                       const struct stk_plan *plan, struct stk_region region, uint32_t *memory,
                       struct stk_image *image)
{
    size_t pixels = (size_t)region.width * region.height;
    bool exchanged = plan->turn & STK_EXCHANGE_AXES;
    struct stk_plan part = {.width = region.width, .height = region.height, .channels = 4};
    struct stk_target target = {memory, .row_bytes = region.width * 4, .bytes = pixels * 4};
    set_crop(&part, region);
    part.box[2] = (float)region.width;
    part.box[3] = (float)region.height;
    part.flip = plan->turn & ~(unsigned)STK_EXCHANGE_AXES;
    *image = (struct stk_image){memory, region.width, region.height, 4, .unused = 1};
    int result = decode_unturned(decoder, info, &part, &target);
    if (!result && exchanged) {
        image->data = memory + pixels;
        image->width = region.height;
        image->height = region.width;
        stk_turn_exchange(memory, region.width, region.height, memory + pixels);
    }
    image->row_bytes = (size_t)image->width * 4;
    return result;
}

/* Returns true if a flip is all that is done with this part of the image. */
static bool is_flip(const struct stk_plan *plan, struct stk_region region)
{
    return !(plan->turn & STK_EXCHANGE_AXES) && plan->width == region.width &&
           plan->height == region.height && plan->window[2] == 0;
}

/* Decodes the crop, turns it, and does the rest with the turned image. */
static int decode_turned(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                         const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_region region;
    struct stk_image image;
    if (plan->channels < 3 || plan->turn > 7 ||
        !stk_turn_region(plan, info->width, info->height, &region)) {
        return STK_DECODE_ARGUMENT;
    }
    struct stk_plan rest = *plan;
    rest.turn = 0;
    if (is_flip(plan, region)) {
        rest.flip ^= plan->turn;
        set_crop(&rest, region);
        return decode_unturned(decoder, info, &rest, target);
    }
    size_t images = plan->turn & STK_EXCHANGE_AXES ? 2 : 1;
    uint32_t *memory = malloc(images * region.width * region.height * 4);
    if (!memory) {
        return STK_DECODE_MEMORY;
    }
    int result = make_turned(decoder, info, plan, region, memory, &image);
    set_crop(&rest, (struct stk_region){0, 0, image.width, image.height});
    result = result ? result : stk_transform(decoder, &image, &rest, target);
    free(memory);
    return result;
}

/* The header has been read. */
static int decode(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                  const struct stk_plan *plan, const struct stk_target *target)
{
    return plan->turn ? decode_turned(decoder, info, plan, target)
                      : decode_unturned(decoder, info, plan, target);
}

int stk_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
               const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_jpeg_info info;
    int result = read_header(decoder, bytes, size, plan->end, &info);
    if (!result) {
        result = decode(decoder, &info, plan, target);
    }
    if (decoder->jpeg) {
        stk_jpeg_stop(decoder->jpeg);
    }
    return result;
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
    if (decoder->jpeg) {
        stk_jpeg_stop(decoder->jpeg);
    }
    return result;
}

int stk_decode_form(struct stk_decoder *decoder, const void *data, size_t bytes,
                    const struct stk_plan *plan, const struct stk_target *target)
{
    struct stk_jpeg_info info;
    int result = need_jpeg(decoder);
    result = result ? result : stk_jpeg_header_of_form(decoder->jpeg, data, bytes, &info);
    if (!result) {
        result = decode(decoder, &info, plan, target);
    }
    if (decoder->jpeg) {
        stk_jpeg_stop(decoder->jpeg);
    }
    return result;
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
    int result = image_is_sound(image, plan->channels) && !plan->turn ? check_layout(plan, false)
                                                                      : STK_DECODE_ARGUMENT;
    result =
        result ? result : stk_geometry_make(plan, target, image->width, image->height, &geometry);
    if (!result && stk_grey_fits(image, plan, &geometry)) {
        return stk_grey_run(&decoder->workspace, image, plan, &geometry, target);
    }
    result = result ? result : stk_passes_prepare(&passes, &decoder->workspace, &geometry);
    result = result ? result
                    : stk_rows_open_image(&rows, &decoder->workspace, image, passes.region,
                                          passes.slack);
    result = result ? result : stk_emit_open(&emit, &decoder->workspace, plan, &geometry, target);
    if (result) {
        return result;
    }
    emit.clear_fourth = geometry.resized && (image->channels != 4 || image->unused);
    return stk_passes_run(&passes, &rows, &emit);
}
