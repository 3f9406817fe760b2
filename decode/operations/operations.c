/* Operations that go through an image row by row. */
#include "decode/operations/operations.h"

#include <string.h>

static size_t row_bytes(const struct stk_picture *image)
{
    return (size_t)image->width * image->pixel_bytes;
}

void stk_blend(const struct stk_picture *out, const struct stk_picture *a,
               const struct stk_picture *b, float share)
{
    const struct stk_operations *operations = stk_operations_select();
    for (uint32_t y = 0; y < out->height; y++) {
        operations->blend(out->rows[y], a->rows[y], b->rows[y], share, row_bytes(out));
    }
}

void stk_convert(const struct stk_picture *out, const struct stk_picture *in,
                 enum stk_conversion kind)
{
    const struct stk_operations *operations = stk_operations_select();
    void (*const convert[])(uint8_t *, const uint8_t *, size_t) = {
        [STK_TO_GREY] = operations->to_grey,
        [STK_FROM_GREY] = operations->from_grey,
        [STK_TO_HSV] = operations->to_hsv,
        [STK_FROM_HSV] = operations->from_hsv,
    };
    for (uint32_t y = 0; y < out->height; y++) {
        convert[kind](out->rows[y], in->rows[y], out->width);
    }
}

/* Returns the colour of which an image without contrast is. */
static uint32_t mean_grey(const struct stk_operations *operations, const struct stk_picture *image)
{
    uint64_t sum = 0;
    for (uint32_t y = 0; y < image->height; y++) {
        sum += operations->sum_greys(image->rows[y], image->width);
    }
    double mean = (double)sum / ((double)image->width * image->height);
    return (uint32_t)(mean + 0.5) * UINT32_C(0x10101) | UINT32_C(0xff000000);
}

static void change_row(const struct stk_operations *operations, struct stk_recolouring change,
                       uint32_t without, uint8_t *row, size_t width)
{
    switch (change.kind) {
    case STK_BRIGHTNESS:
    case STK_CONTRAST:
        operations->from_colour(row, without, change.number, width);
        break;
    case STK_SATURATION:
        operations->from_own_grey(row, change.number, width);
        break;
    case STK_HUE:
        operations->turn_hue(row, (uint32_t)change.number, width);
        break;
    }
}

void stk_recolour(const struct stk_picture *out, const struct stk_picture *in,
                  const struct stk_recolouring *changes, unsigned count)
{
    const struct stk_operations *operations = stk_operations_select();
    for (uint32_t y = 0; y < out->height; y++) {
        memcpy(out->rows[y], in->rows[y], row_bytes(out));
    }
    for (unsigned i = 0; i < count; i++) {
        uint32_t without = changes[i].kind == STK_CONTRAST ? mean_grey(operations, out) : 0;
        for (uint32_t y = 0; y < out->height; y++) {
            change_row(operations, changes[i], without, out->rows[y], out->width);
        }
    }
}

/* Makes the inner pixels of row y. The fourth byte of a colour becomes 0, as in Pillow. */
static void weigh_row(const struct stk_operations *operations, const struct stk_picture *out,
                      const struct stk_picture *in, uint32_t y, const float weights[9])
{
    size_t step = in->pixel_bytes, bytes = row_bytes(in) - 2 * step;
    const uint8_t *const rows[3] = {in->rows[y - 1] + step, in->rows[y] + step,
                                    in->rows[y + 1] + step};
    uint8_t *to = out->rows[y] + step;
    operations->weigh_nine(to, rows, weights, step, bytes);
    for (size_t i = 3; step == 4 && i < bytes; i += 4) {
        to[i] = 0;
    }
}

void stk_weigh_nine(const struct stk_picture *out, const struct stk_picture *in,
                    const float weights[9])
{
    const struct stk_operations *operations = stk_operations_select();
    size_t step = in->pixel_bytes, all = row_bytes(in);
    for (uint32_t y = 0; y < in->height; y++) {
        if (y == 0 || y == in->height - 1 || in->width < 3) {
            memcpy(out->rows[y], in->rows[y], all);
            continue;
        }
        memcpy(out->rows[y], in->rows[y], step);
        memcpy(out->rows[y] + all - step, in->rows[y] + all - step, step);
        weigh_row(operations, out, in, y, weights);
    }
}

bool stk_warp_image(const struct stk_picture *out, const struct stk_picture *in,
                    struct stk_warp warp)
{
    const struct stk_operations *operations = stk_operations_select();
    warp.rows = (const uint8_t *const *)in->rows;
    warp.width = in->width;
    warp.height = in->height;
    for (uint32_t y = 0; y < out->height; y++) {
        if (!operations->warp(out->rows[y], &warp, y, out->width)) {
            return false;
        }
    }
    return true;
}
