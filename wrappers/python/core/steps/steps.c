#include "wrappers/python/core/steps/steps.h"

#include <math.h>
#include <string.h>

#define LARGEST_SIDE (1 << 20) /* that is resized to here */
#define TRIES        10
#define ROUNDING     0x1.01p-24 /* to single precision, at most, as a share; and a little more */

/* ---- noting ---- */

/* Moves a box of a flipped image to its place in the unflipped one. */
static void mirror(const struct sketch *sketch, int64_t box[4])
{
    int64_t left = box[0], top = box[1];
    if (sketch->plan.flip & STK_FLIP_HORIZONTAL) {
        box[0] = sketch->width - box[2];
        box[2] = sketch->width - left;
    }
    if (sketch->plan.flip & STK_FLIP_VERTICAL) {
        box[1] = sketch->height - box[3];
        box[3] = sketch->height - top;
    }
}

static void crop(struct sketch *sketch, int64_t left, int64_t top, int64_t width, int64_t height)
{
    struct stk_plan *plan = &sketch->plan;
    int64_t box[4] = {left, top, left + width, top + height};
    sketch->changed = true;
    if (left < 0 || top < 0 || box[2] > sketch->width || box[3] > sketch->height) {
        memcpy(sketch->box, box, sizeof box);
        sketch->rest = REST_CROP;
        return;
    }
    mirror(sketch, box);
    for (int i = 3; i >= 0; i--) {
        if (plan->filter != 0) {
            plan->window[i] = plan->window[i % 2] + (uint32_t)box[i];
        } else {
            plan->crop[i] = plan->crop[i % 2] + (int32_t)box[i];
        }
    }
    sketch->width = width;
    sketch->height = height;
}

static void resize(struct sketch *sketch, uint32_t width, uint32_t height, int filter)
{
    struct stk_plan *plan = &sketch->plan;
    if (width == sketch->width && height == sketch->height) {
        return;
    }
    sketch->changed = true;
    if (plan->filter != 0 || plan->flip != 0) {
        sketch->resize = (struct step){.filter = filter, .width = width, .height = height};
        sketch->rest = REST_RESIZE;
        return;
    }
    sketch->width = plan->width = width;
    sketch->height = plan->height = height;
    plan->filter = (enum stk_filter)filter;
}

/* ---- drawing ---- */

/*
 * torch rounds to single precision, more or less often from one processor to the next, and takes
 * the exponential by whatever it was built with. So its number is known but for the last bits,
 * which are rarely of account; where they are, the step is torchvision's.
 */
struct about {
    double value, error;
};

/* Returns what uniform_() makes of one draw: a difference, a product and a sum, each rounded or
 * not. */
static struct about uniform(struct numbers *numbers, double least, double most)
{
    double low = (float)least, high = (float)most;
    double value = low + numbers_share(numbers) * (high - low);
    return (struct about){value, ROUNDING * (2 * fabs(value - low) + fabs(value))};
}

/* round(sqrt(square)), if that is certain; else -1. The error is the square's, as a share of it:
 * the root's is half of that. */
static int64_t edge_of(double square, double error)
{
    double edge = sqrt(square), doubt = edge * error / 2 + 1e-9;
    double rounded = floor(edge + 0.5);
    bool certain = edge - doubt > rounded - 0.5 && edge + doubt < rounded + 0.5;
    return certain && rounded <= INT32_MAX ? (int64_t)rounded : -1;
}

/* Makes one try. Returns 1 if the region lies in the image, 0 if not, -1 if that is not certain. */
static int try_region(const struct step *step, const struct sketch *sketch, struct numbers *numbers,
                      int64_t *width, int64_t *height)
{
    struct about share = uniform(numbers, step->region.least_share, step->region.most_share);
    struct about shape = uniform(numbers, step->region.least_log, step->region.most_log);
    double area = (double)(sketch->width * sketch->height) * share.value;
    double error = share.error / share.value + shape.error + 0x1p-21;
    double aspect = exp(shape.value);
    *width = edge_of(area * aspect, error);
    *height = edge_of(area / aspect, error);
    if (*width < 0 || *height < 0) {
        return -1;
    }
    return *width > 0 && *width <= sketch->width && *height > 0 && *height <= sketch->height;
}

static void crop_anywhere(struct sketch *sketch, struct numbers *numbers, int64_t width,
                          int64_t height)
{
    uint32_t top = numbers_below(numbers, (uint32_t)(sketch->height - height + 1));
    uint32_t left = numbers_below(numbers, (uint32_t)(sketch->width - width + 1));
    crop(sketch, left, top, width, height);
}

/* Takes the middle if no region fits: as much of it as has a wanted shape. Returns false if that is
 * nothing. */
static bool crop_in_shape(const struct step *step, struct sketch *sketch)
{
    double width = (double)sketch->width, height = (double)sketch->height;
    double least = step->region.least_shape, most = step->region.most_shape, shape = width / height;
    if (shape < least) {
        height = rint(width / least);
    } else if (shape > most) {
        width = rint(height * most);
    }
    if (width < 1 || height < 1) {
        return false;
    }
    crop(sketch, (sketch->width - (int64_t)width) / 2, (sketch->height - (int64_t)height) / 2,
         (int64_t)width, (int64_t)height);
    return true;
}

static bool draw_region(const struct step *step, struct sketch *sketch, struct numbers *numbers)
{
    struct numbers before = *numbers;
    int64_t width, height;
    int found = 0;
    for (int i = 0; found == 0 && i < TRIES; i++) {
        found = try_region(step, sketch, numbers, &width, &height);
    }
    if (found < 0 || (found == 0 && !crop_in_shape(step, sketch))) {
        *numbers = before;
        return false;
    }
    if (found > 0) {
        crop_anywhere(sketch, numbers, width, height);
    }
    resize(sketch, step->width, step->height, step->filter);
    return true;
}

static bool draw_crop(const struct step *step, struct sketch *sketch, struct numbers *numbers)
{
    double left_pad = step->pad.left, top_pad = step->pad.top, channels = step->pad.channels;
    int64_t more_height = sketch->height + (int64_t)(top_pad + step->pad.bottom) - step->height;
    int64_t more_width = sketch->width + (int64_t)(left_pad + step->pad.right) - step->width;
    bool each = step->kind == STEP_CROP_EACH;
    int64_t top = 0, left = 0;
    if (more_height < 0 || more_width < 0 || (channels != 0 && channels != sketch->channels)) {
        return false;
    }
    if (more_height > 0 || (!each && more_width > 0)) {
        top = numbers_below(numbers, (uint32_t)more_height + 1);
    }
    if (more_width > 0 || (!each && more_height > 0)) {
        left = numbers_below(numbers, (uint32_t)more_width + 1);
    }
    crop(sketch, left - (int64_t)left_pad, top - (int64_t)top_pad, step->width, step->height);
    return true;
}

static bool draw_flip(const struct step *step, struct sketch *sketch, struct numbers *numbers)
{
    if ((float)numbers_share(numbers) < (float)step->probability) {
        sketch->plan.flip ^= (unsigned)step->filter;
        sketch->changed = true;
    }
    return true;
}

/* ---- without a draw ---- */

/* Half of what is too much, a half of a pixel rounded to the even number; or of what lacks, which
 * is negative, rounded towards zero. */
static int64_t half_of(int64_t more)
{
    return more / 2 + (more > 0 ? more & more / 2 & 1 : 0);
}

static bool crop_center(const struct step *step, struct sketch *sketch)
{
    crop(sketch, half_of(sketch->width - step->width), half_of(sketch->height - step->height),
         step->width, step->height);
    return true;
}

static bool resize_all(const struct step *step, struct sketch *sketch)
{
    int64_t width = step->width, height = step->height;
    if (step->width == 0) {
        bool upright = sketch->width <= sketch->height;
        int64_t shorter = upright ? sketch->width : sketch->height;
        int64_t longer = upright ? sketch->height : sketch->width;
        longer = (int64_t)((double)(height * longer) / (double)shorter);
        width = upright ? height : longer;
        height = upright ? longer : height;
    }
    if (width > LARGEST_SIDE || height > LARGEST_SIDE) {
        return false;
    }
    resize(sketch, (uint32_t)width, (uint32_t)height, step->filter);
    return true;
}

/* ---- all of them ---- */

static bool does_draw(const struct step *step)
{
    return step->kind >= STEP_CROP;
}

static bool note(const struct step *step, struct sketch *sketch, struct numbers *numbers)
{
    if (does_draw(step) && numbers == NULL) {
        return false;
    }
    switch (step->kind) {
    case STEP_RESIZE:
        return resize_all(step, sketch);
    case STEP_CENTER_CROP:
        return crop_center(step, sketch);
    case STEP_BOX:
        crop(sketch, (int64_t)step->place.left, (int64_t)step->place.top, step->width,
             step->height);
        return true;
    case STEP_CROP:
    case STEP_CROP_EACH:
        return draw_crop(step, sketch, numbers);
    case STEP_REGION:
        return draw_region(step, sketch, numbers);
    case STEP_FLIP:
        return draw_flip(step, sketch, numbers);
    default:
        return false;
    }
}

struct sketch sketch_begin(uint32_t width, uint32_t height, uint32_t channels)
{
    return (struct sketch){.plan = {.crop = {0, 0, (int32_t)width, (int32_t)height}},
                           .width = width,
                           .height = height,
                           .channels = channels};
}

size_t sketch_note(struct sketch *sketch, const struct steps *steps, size_t at,
                   struct numbers *numbers)
{
    while (at < steps->count && sketch->rest == REST_NOTHING &&
           note(&steps->of[at], sketch, numbers)) {
        at++;
    }
    return at;
}

struct stk_plan sketch_plan(const struct sketch *sketch)
{
    struct stk_plan plan = sketch->plan;
    plan.box[2] = (float)(plan.crop[2] - plan.crop[0]);
    plan.box[3] = (float)(plan.crop[3] - plan.crop[1]);
    if (plan.filter == 0) {
        plan.width = (uint32_t)sketch->width;
        plan.height = (uint32_t)sketch->height;
    }
    return plan;
}

bool steps_draw(const struct steps *steps, size_t at)
{
    while (at < steps->count && !does_draw(&steps->of[at])) {
        at++;
    }
    return at < steps->count;
}
