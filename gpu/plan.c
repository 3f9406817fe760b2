#include "gpu/plan.h"

#include <math.h>

#include "gpu/host.h"

/* ---- what follows from a plan ---- */

/* Returns what is missing from the inverse of a divisor in single precision. */
static float rest_of(float inverse, float divisor)
{
    return (float)(1.0 / (double)divisor - (double)inverse);
}

/* Returns true if, for all bytes of a channel, multiplying by the inverse gives what dividing
 * gives. */
static bool is_quick(const struct stk_gpu_plan *plan, uint32_t channel)
{
    float mean = plan->mean[channel], std = plan->std[channel], inverse = 1.0F / std;
    float rest = rest_of(inverse, std);
    for (uint32_t byte = 0; byte < 256; byte++) {
        float quick = stk_gpu_quick((float)byte, mean, inverse, rest);
        if (stk_gpu_bits(quick) != stk_gpu_bits(stk_gpu_normal((float)byte, mean, std))) {
            return false;
        }
    }
    return inverse != 0;
}

/* Returns the channels of a whole image, and so the number of its means, wherever they lie. */
static uint32_t shares(const struct stk_gpu_plan *plan)
{
    return plan->channels * plan->planes;
}

/* Where one channel has to be divided, all are. */
static void find_inverses(struct stk_gpu_plan *plan)
{
    bool all_quick = true;
    for (uint32_t c = 0; c < shares(plan); c++) {
        all_quick = all_quick && is_quick(plan, c);
    }
    for (uint32_t c = 0; c < shares(plan); c++) {
        plan->inverse[c] = all_quick ? 1.0F / plan->std[c] : 0;
        plan->rest[c] = all_quick ? rest_of(plan->inverse[c], plan->std[c]) : 0;
    }
}

static void fill_table(struct stk_gpu_plan *plan, uint32_t channel)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        float value = stk_gpu_normal((float)byte, plan->mean[channel], plan->std[channel]);
        plan->numbers[channel][byte] = stk_gpu_convert(value, plan->type);
    }
}

static bool is_size(uint32_t width, uint32_t height)
{
    return width > 0 && width <= STK_GPU_SIDE && height > 0 && height <= STK_GPU_SIDE;
}

static const char *refuse(const struct stk_gpu_plan *plan)
{
    if (plan->channels != 1 && plan->channels != 3) {
        return "images have 1 or 3 channels";
    }
    if (plan->planes == 0 || shares(plan) > STK_GPU_CHANNELS ||
        (plan->planes > 1 && plan->layout != STK_GPU_NCHW)) {
        return "planes are up to 3 of one channel each, and stay planes";
    }
    if (!is_size(plan->width, plan->height)) {
        return "width and height are 1 to 65535";
    }
    if ((unsigned)plan->type > STK_GPU_BF16 || (unsigned)plan->layout > STK_GPU_NHWC) {
        return "there is no such type or layout";
    }
    for (uint32_t c = 0; c < shares(plan); c++) {
        if (!isfinite(plan->mean[c]) || !isfinite(plan->std[c]) || plan->std[c] == 0) {
            return "mean and std are finite, and std is not 0";
        }
    }
    return NULL;
}

const char *stk_gpu_plan_finish(struct stk_gpu_plan *plan)
{
    plan->planes = plan->planes == 0 ? 1 : plan->planes;
    const char *refusal = refuse(plan);
    if (refusal != NULL) {
        return refusal;
    }
    find_inverses(plan);
    for (uint32_t c = 0; c < shares(plan); c++) {
        fill_table(plan, c);
    }
    return NULL;
}

/* ---- images ---- */

/* A window may lie anywhere near its image: sums of these fit in 32 bits. */
static bool is_near(int32_t offset)
{
    return offset >= -(int32_t)STK_GPU_SIDE && offset <= (int32_t)STK_GPU_SIDE;
}

const char *stk_gpu_plan_refuse(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                                size_t count)
{
    if (count == 0 || count > STK_GPU_SIDE) {
        return "a batch has 1 to 65535 images";
    }
    for (size_t i = 0; i < count; i++) {
        const struct stk_gpu_image *image = &images[i];
        if (!is_size(image->width, image->height)) {
            return "an image's width and height are 1 to 65535";
        }
        if (image->stride / plan->channels < image->width) {
            return "an image's rows overlap";
        }
        if (!is_near(image->left) || !is_near(image->top)) {
            return "a window is too far from its image";
        }
    }
    return NULL;
}

size_t stk_gpu_image_bytes(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image)
{
    return (size_t)(image->height - 1) * image->stride + (size_t)image->width * plan->channels;
}

const char *stk_gpu_plan_refuse_outside(const struct stk_gpu_plan *plan,
                                        const struct stk_gpu_image *images, size_t count,
                                        uint64_t begin, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t from = images[i].pixels - begin;
        if (images[i].pixels < begin || from > bytes ||
            stk_gpu_image_bytes(plan, &images[i]) > bytes - from) {
            return "an image does not lie in the memory that it should";
        }
    }
    return NULL;
}

size_t stk_gpu_plan_bytes(const struct stk_gpu_plan *plan, size_t count)
{
    return count * plan->channels * plan->width * plan->height * stk_gpu_type_bytes(plan->type);
}

struct stk_gpu_job stk_gpu_plan_job(const struct stk_gpu_plan *plan, uint64_t images, size_t count,
                                    uint64_t out)
{
    struct stk_gpu_job job = {
        .images = images,
        .out = out,
        .count = (uint32_t)count,
        .width = plan->width,
        .height = plan->height,
        .planes = plan->planes,
    };
    for (uint32_t c = 0; c < shares(plan); c++) {
        job.fill[c] = plan->fill[c];
        job.mean[c] = plan->mean[c];
        job.std[c] = plan->std[c];
        job.inverse[c] = plan->inverse[c];
        job.rest[c] = plan->rest[c];
    }
    return job;
}
