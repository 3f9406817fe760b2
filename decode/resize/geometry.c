/* Checks plans, and finds out which passes they take: by Pillow's rules, version by version. */
#include "decode/resize/geometry.h"

#include "decode/common/limits.h"

static bool crop_fits(const int32_t crop[4], uint32_t width, uint32_t height)
{
    return crop[0] >= 0 && crop[1] >= 0 && crop[0] < crop[2] && crop[1] < crop[3] &&
           (uint32_t)crop[2] <= width && (uint32_t)crop[3] <= height;
}

/* Written so that what is not a number fails. */
static bool box_fits(const float box[4], uint32_t width, uint32_t height)
{
    return box[0] >= 0 && box[1] >= 0 && box[2] >= box[0] && box[3] >= box[1] &&
           box[2] <= (float)width && box[3] <= (float)height;
}

static bool plan_is_sound(const struct stk_plan *plan)
{
    return plan->width > 0 && plan->height > 0 && plan->width <= STK_LIMIT_OUTPUT &&
           plan->height <= STK_LIMIT_OUTPUT &&
           (plan->channels == 1 || plan->channels == 3 || plan->channels == 4) &&
           (unsigned)plan->filter <= STK_FILTER_BILINEAR_FLOATS &&
           (unsigned)plan->resizer <= STK_RESIZER_TORCH &&
           (unsigned)plan->layout <= STK_LAYOUT_BGR && (unsigned)plan->type <= STK_TYPE_F32 &&
           (plan->layout != STK_LAYOUT_BGR || plan->channels == 3) &&
           (plan->type == STK_TYPE_U8 || plan->table) &&
           !(plan->flip & ~(unsigned)(STK_FLIP_HORIZONTAL | STK_FLIP_VERTICAL));
}

/* Floats stand where floats may stand. */
static bool target_is_aligned(const struct stk_plan *plan, const struct stk_target *target)
{
    size_t all = (uintptr_t)target->data | target->row_bytes |
                 (plan->layout == STK_LAYOUT_CHW ? target->plane_bytes : 0);
    return plan->type == STK_TYPE_U8 || all % _Alignof(float) == 0;
}

/* The last byte that is written lies inside; no sum wraps. */
static bool target_fits(const struct stk_plan *plan, const struct stk_geometry *size,
                        const struct stk_target *target)
{
    size_t sample = plan->type == STK_TYPE_F32 ? sizeof(float) : 1;
    bool planes = plan->layout == STK_LAYOUT_CHW;
    size_t row = size->width * sample * (planes ? 1 : plan->channels), last, before = 0;
    if (!target->data || __builtin_mul_overflow(target->row_bytes, size->height - 1, &last) ||
        (planes && __builtin_mul_overflow(target->plane_bytes, plan->channels - 1, &before)) ||
        __builtin_add_overflow(last, row, &last) || __builtin_add_overflow(last, before, &last)) {
        return false;
    }
    return last <= target->bytes && (size->height == 1 || target->row_bytes >= row);
}

/* The window of the resized image: all of it if it is all zero. False: it is no part of it. */
static bool window_of(const struct stk_plan *plan, struct stk_region *out)
{
    const uint32_t *window = plan->window;
    *out = (struct stk_region){0, 0, plan->width, plan->height};
    if ((window[0] | window[1] | window[2] | window[3]) == 0) {
        return true;
    }
    if (window[0] >= window[2] || window[1] >= window[3] || window[2] > plan->width ||
        window[3] > plan->height) {
        return false;
    }
    *out = (struct stk_region){window[0], window[1], window[2] - window[0], window[3] - window[1]};
    return true;
}

static bool vertical_goes_first(enum stk_resizer resizer, int64_t w, int64_t h, int64_t ow,
                                int64_t oh)
{
    switch (resizer) {
    case STK_RESIZER_TALL_VERTICAL:
        return h > 100 * w && oh < h;
    case STK_RESIZER_SHRINK_VERTICAL:
        return h - oh > 0 && h - oh > 2 * (w - ow);
    default:
        return false;
    }
}

/* Returns true unless it is a resize by floats that is not made here. */
static bool floats_fit(const struct stk_plan *plan, uint32_t width, uint32_t height)
{
    const float *box = plan->box;
    return plan->filter != STK_FILTER_BILINEAR_FLOATS ||
           (plan->channels == 3 && box[0] == 0 && box[1] == 0 && box[2] == (float)width &&
            box[3] == (float)height);
}

/* A box of whole pixels that has the result's size already is a crop. */
static bool box_is_crop(const struct stk_plan *plan)
{
    const float *box = plan->box;
    return box[0] == (float)(uint32_t)box[0] && box[1] == (float)(uint32_t)box[1] &&
           box[2] - box[0] == (float)plan->width && box[3] - box[1] == (float)plan->height;
}

static void narrow(struct stk_geometry *out, const struct stk_plan *plan, struct stk_region window)
{
    out->crop.left += (uint32_t)plan->box[0] + window.left;
    out->crop.top += (uint32_t)plan->box[1] + window.top;
    out->crop.width = window.width;
    out->crop.height = window.height;
}

static struct stk_axis axis_of(uint32_t size, float from, float to, uint32_t total,
                               enum stk_filter filter)
{
    return (struct stk_axis){
        .size = size, .from = from, .to = to, .total = total, .outputs = total, .filter = filter};
}

/* An axis without a pass takes its window out of the crop, the others out of their outputs. */
static void set_window(struct stk_geometry *out, struct stk_region window)
{
    out->x.skipped = window.left;
    out->x.outputs = window.width;
    out->y.skipped = window.top;
    out->y.outputs = window.height;
    if (!out->pass_x) {
        out->crop.left += window.left;
        out->crop.width = window.width;
    }
    if (!out->pass_y) {
        out->crop.top += window.top;
        out->crop.height = window.height;
    }
}

static void set_passes(struct stk_geometry *out, const struct stk_plan *plan)
{
    const float *box = plan->box;
    uint32_t w = out->crop.width, h = out->crop.height;
    bool nearest = plan->filter == STK_FILTER_NEAREST;
    out->by_floats = plan->filter == STK_FILTER_BILINEAR_FLOATS;
    out->x = axis_of(w, box[0], box[2], plan->width, plan->filter);
    out->y = axis_of(h, box[1], box[3], plan->height, plan->filter);
    out->pass_x = nearest || out->by_floats || plan->width != w || box[0] > 0 || box[2] < (float)w;
    out->pass_y = nearest || out->by_floats || plan->height != h || box[1] > 0 || box[3] < (float)h;
    out->vertical_first = vertical_goes_first(plan->resizer, w, h, plan->width, plan->height);
    out->x.is_torch = out->y.is_torch = plan->resizer == STK_RESIZER_TORCH;
    out->resized = !nearest;
}

/* A flip of rows is a matter of the target alone. */
void stk_geometry_flip(struct stk_geometry *out)
{
    if (!out->pass_x) {
        uint32_t width = out->crop.width;
        out->x = axis_of(width, 0, (float)width, width, STK_FILTER_NEAREST);
        out->pass_x = true;
    }
    out->x.reversed = true;
}

static void set_steps(struct stk_geometry *out, const struct stk_plan *plan,
                      struct stk_region window)
{
    if (box_is_crop(plan)) {
        narrow(out, plan, window);
    } else {
        set_passes(out, plan);
        set_window(out, window);
    }
    if (plan->flip & STK_FLIP_HORIZONTAL) {
        stk_geometry_flip(out);
    }
}

int stk_geometry_make(const struct stk_plan *plan, const struct stk_target *target, uint32_t width,
                      uint32_t height, struct stk_geometry *out)
{
    const int32_t *crop = plan->crop;
    struct stk_region window;
    *out = (struct stk_geometry){0};
    if (!plan_is_sound(plan) || !window_of(plan, &window) || !crop_fits(crop, width, height)) {
        return STK_DECODE_ARGUMENT;
    }
    out->width = window.width;
    out->height = window.height;
    out->crop = (struct stk_region){(uint32_t)crop[0], (uint32_t)crop[1],
                                    (uint32_t)(crop[2] - crop[0]), (uint32_t)(crop[3] - crop[1])};
    if (!target_fits(plan, out, target) || !target_is_aligned(plan, target) ||
        !box_fits(plan->box, out->crop.width, out->crop.height) ||
        !floats_fit(plan, out->crop.width, out->crop.height)) {
        return STK_DECODE_ARGUMENT;
    }
    set_steps(out, plan, window);
    return STK_DECODE_OK;
}
