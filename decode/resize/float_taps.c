/* Taps as torch computes them: numbers are stored in single precision, and sums with 0.5 are made
 * in double. */
#include "decode/resize/taps.h"

#include <math.h>

struct float_work {
    const struct stk_axis *axis;
    float scale, support, inverse;
    uint32_t longest;
    uint32_t *first, *lengths;
    float *weights;
};

static void start_work(struct float_work *work, const struct stk_axis *axis)
{
    float scale = (float)axis->size / (float)axis->total;
    work->axis = axis;
    work->scale = scale;
    work->support = scale >= 1.0f ? scale : 1.0f;
    work->inverse = scale >= 1.0f ? (float)(1.0 / (double)scale) : 1.0f;
    work->longest = 2 * (uint32_t)ceilf(work->support) + 1;
}

static int allocate(struct float_work *work, struct stk_workspace *workspace,
                    enum stk_scratch where)
{
    size_t outputs = work->axis->outputs, weights;
    if (__builtin_mul_overflow(outputs, (size_t)work->longest * sizeof(float), &weights)) {
        return STK_DECODE_MEMORY;
    }
    char *memory = stk_workspace_get(workspace, where, weights + 2 * outputs * sizeof(uint32_t));
    if (memory == NULL) {
        return STK_DECODE_MEMORY;
    }
    work->weights = (float *)(void *)memory;
    work->first = (uint32_t *)(void *)(memory + weights);
    work->lengths = work->first + outputs;
    return STK_DECODE_OK;
}

/* Returns the center of an output. Positions count from the first one of the whole result. */
static float center_of(const struct float_work *work, uint32_t position)
{
    return (float)((double)work->scale * (position + 0.5));
}

/* Finds the inputs of an output: those around its center that exist. */
static void find_window(struct float_work *work, uint32_t slot, float center)
{
    int64_t size = work->axis->size;
    int64_t begin = (int64_t)((double)(center - work->support) + 0.5);
    int64_t end = (int64_t)((double)(center + work->support) + 0.5);
    begin = begin > 0 ? begin : 0;
    end = end < size ? end : size;
    int64_t length = end > begin ? end - begin : 0;
    work->first[slot] = (uint32_t)begin;
    work->lengths[slot] = length < work->longest ? (uint32_t)length : work->longest;
}

/* Returns the weight at a distance. */
static float bilinear(float distance)
{
    distance = fabsf(distance);
    return distance < 1.0f ? (float)(1.0 - (double)distance) : 0.0f;
}

static void weigh(struct float_work *work, uint32_t slot, float center)
{
    float *weights = work->weights + (size_t)slot * work->longest, sum = 0;
    uint32_t length = work->lengths[slot];
    for (uint32_t i = 0; i < length; i++) {
        double distance = (double)((float)(i + work->first[slot]) - center) + 0.5;
        weights[i] = bilinear((float)(distance * (double)work->inverse));
        sum += weights[i];
    }
    for (uint32_t i = 0; i < length && sum != 0.0f; i++) {
        weights[i] /= sum;
    }
}

int stk_float_taps_make(struct stk_workspace *workspace, enum stk_scratch where,
                        const struct stk_axis *axis, struct stk_float_axis_taps *out)
{
    struct float_work work;
    start_work(&work, axis);
    int result = allocate(&work, workspace, where);
    for (uint32_t o = 0; o < axis->outputs && !result; o++) {
        uint32_t slot = axis->reversed ? axis->outputs - 1 - o : o;
        float center = center_of(&work, axis->skipped + o);
        find_window(&work, slot, center);
        weigh(&work, slot, center);
        result = work.lengths[slot] > 0 ? STK_DECODE_OK : STK_DECODE_UNSUPPORTED;
    }
    if (result) {
        return result;
    }
    out->inputs = stk_taps_inputs(work.first, work.lengths, axis->outputs);
    for (uint32_t o = 0; o < axis->outputs; o++) {
        work.first[o] -= out->inputs.origin;
    }
    out->taps = (struct stk_float_taps){axis->outputs, work.longest, work.first, work.lengths,
                                        work.weights};
    return STK_DECODE_OK;
}
