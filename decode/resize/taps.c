/*
 * Taps as Pillow computes them, in double, each rounding in its place: the result is decided by
 * weights of 22 fractional bits. torch computes the same weights, and rounds them to fewer bits. A
 * weight of fewer bits is one of 22 whose last ones are zero.
 */
#include "decode/resize/taps.h"

#include <math.h>
#include <string.h>

#include "decode/resize/filter.h"

/* The kernels' limit (kernels.h). No filter comes near, whatever the box. */
#define LARGEST (127 << 16)
/* Groups that the kernels may pack with the last one. */
#define PACKED_TOO_FAR 4

/* The limit of torch's weights, which have 16 bits. */
#define TORCH_LIMIT (1 << 15)

/* Everything that is being made, in one piece of scratch memory. */
struct work {
    const struct stk_axis *axis;
    const struct stk_filter_curve *curve;
    double scale, stretch, support;
    unsigned bits; /* of a weight's fraction */
    bool is_short; /* weights are stored as they are, else as those of 22 bits */
    uint32_t *first, *lengths;
    struct stk_weights *weights;
    double *row; /* of one output's weights */
    /* `longest` weights of each position, where all are needed before the first is stored; else
     * NULL. */
    double *all;
    size_t longest;
};

static size_t padded(size_t count, size_t unit)
{
    return (count + unit - 1) / unit * unit;
}

/* Returns the center of an output. Positions count from the first one of the whole result. */
static double center_of(const struct work *work, uint32_t position)
{
    return (double)work->axis->from + (position + 0.5) * work->scale;
}

/* Cut off towards zero, as the reference's cast does, and then to what exists. */
static uint32_t clamp(double position, uint32_t size)
{
    return position <= 0 ? 0 : position >= size ? size : (uint32_t)position;
}

/* Finds the first input of an output, and returns how many there are. */
static uint32_t find_window(const struct work *work, uint32_t position, uint32_t *first)
{
    double center = center_of(work, position);
    uint32_t size = work->axis->size;
    uint32_t begin = clamp(center - work->support + 0.5, size);
    uint32_t end = clamp(center + work->support + 0.5, size);
    *first = begin < size ? begin : size - 1;
    return end > begin ? end - begin : 0;
}

/* The nearest pixel: its position is a running sum, with that sum's rounding. */
static void find_nearest(struct work *work)
{
    const struct stk_axis *axis = work->axis;
    double position = (double)axis->from + work->scale * 0.5;
    for (uint32_t o = 0; o < axis->skipped; o++) {
        position += work->scale;
    }
    for (uint32_t o = 0; o < axis->outputs; o++) {
        uint32_t slot = axis->reversed ? axis->outputs - 1 - o : o;
        bool inside = position >= 0 && position < axis->size;
        work->first[slot] = inside ? (uint32_t)position : axis->size - 1;
        work->lengths[slot] = inside;
        position += work->scale;
    }
}

static void find_windows(struct work *work)
{
    const struct stk_axis *axis = work->axis;
    if (!work->curve) {
        find_nearest(work);
        return;
    }
    for (uint32_t o = 0; o < axis->outputs; o++) {
        uint32_t slot = axis->reversed ? axis->outputs - 1 - o : o;
        work->lengths[slot] = find_window(work, axis->skipped + o, &work->first[slot]);
    }
}

/* Returns the first input of a slot as it counts from the other end. */
static uint32_t mirrored(const struct work *work, uint32_t slot)
{
    uint32_t length = work->lengths[slot] ? work->lengths[slot] : 1;
    return work->axis->size - work->first[slot] - length;
}

static void mirror_windows(struct work *work)
{
    for (uint32_t slot = 0; work->axis->mirrored && slot < work->axis->outputs; slot++) {
        work->first[slot] = mirrored(work, slot);
    }
}

/* Fills work->row with the weights of one output, whose sum is one. */
static void weigh(struct work *work, uint32_t position, uint32_t begin, uint32_t length)
{
    double center = center_of(work, position), sum = 0, inverse = 1.0 / work->stretch;
    if (!work->curve) {
        work->row[0] = 1.0;
        return;
    }
    for (uint32_t i = 0; i < length; i++) {
        work->row[i] = ((int32_t)(i + begin) - center + 0.5) * inverse;
    }
    work->curve->weigh(work->row, length);
    for (uint32_t i = 0; i < length; i++) {
        sum += work->row[i];
    }
    for (uint32_t i = 0; i < length && sum != 0.0; i++) {
        work->row[i] /= sum;
    }
}

/* Finds the fraction's bits. torch leaves as many as the largest weight of the axis has room for.
 */
static void find_bits(struct work *work)
{
    double largest = 0;
    for (uint32_t position = 0; work->all && position < work->axis->total; position++) {
        uint32_t first, length = find_window(work, position, &first);
        work->row = work->all + position * work->longest;
        weigh(work, position, first, length);
        for (uint32_t i = 0; i < length; i++) {
            largest = work->row[i] > largest ? work->row[i] : largest;
        }
    }
    work->bits = work->all ? 0 : STK_WEIGHT_BITS;
    while (work->bits < STK_WEIGHT_BITS && 0.5 + largest * (2 << work->bits) < TORCH_LIMIT) {
        work->bits++;
    }
}

/* Fixed point, rounded away from zero at a half. */
static int32_t fix(double scaled)
{
    return (int32_t)(scaled < 0 ? -0.5 + scaled : 0.5 + scaled);
}

/* False: one is too large for the kernels. */
static bool scale(double *row, uint32_t length, unsigned bits)
{
    bool fits = true;
    for (uint32_t i = 0; i < length; i++) {
        row[i] *= 1 << bits;
        fits &= fabs(row[i]) < LARGEST >> (STK_WEIGHT_BITS - bits);
    }
    return fits;
}

static int store_weights(struct work *work, const struct stk_taps *taps, uint32_t slot)
{
    uint32_t output = work->axis->reversed ? taps->outputs - 1 - slot : slot;
    uint32_t position = work->axis->skipped + output, length = work->lengths[slot];
    int32_t unit = work->is_short ? 1 : 1 << (STK_WEIGHT_BITS - work->bits);
    int32_t *words = work->weights[(size_t)slot * taps->groups].word;
    if (work->all) {
        work->row = work->all + position * work->longest;
    } else {
        weigh(work, position, work->axis->mirrored ? mirrored(work, slot) : work->first[slot],
              length);
    }
    if (!scale(work->row, length, work->bits)) {
        return STK_DECODE_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < length; i++) {
        words[work->axis->mirrored ? length - 1 - i : i] = fix(work->row[i]) * unit;
    }
    return STK_DECODE_OK;
}

struct stk_inputs stk_taps_inputs(const uint32_t *first, const uint32_t *lengths, uint32_t outputs)
{
    struct stk_inputs all = {.origin = UINT32_MAX, .longest = 1};
    uint32_t end = 0;
    for (uint32_t o = 0; o < outputs; o++) {
        uint32_t last = first[o] + (lengths[o] ? lengths[o] : 1);
        all.origin = first[o] < all.origin ? first[o] : all.origin;
        end = last > end ? last : end;
        all.longest = lengths[o] > all.longest ? lengths[o] : all.longest;
    }
    all.used = end - all.origin;
    return all;
}

static void start_work(struct work *work, const struct stk_axis *axis)
{
    work->axis = axis;
    work->curve = stk_filter_curve_get(axis->filter);
    work->scale = (double)(axis->to - axis->from) / axis->total;
    work->stretch = work->scale < 1.0 ? 1.0 : work->scale;
    work->support = work->curve ? work->curve->support * work->stretch : 0;
}

/* Lays the arrays out in one piece: weights, rows in double, first, lengths. */
static int allocate(struct work *work, struct stk_workspace *workspace, enum stk_scratch where)
{
    size_t slots = padded(work->axis->outputs, STK_ROWS_TOGETHER);
    size_t longest = 2 * (size_t)ceil(work->support) + 2;
    longest = longest < work->axis->size ? longest : work->axis->size;
    size_t groups = padded(longest, 4) / 4;
    bool all = work->axis->is_torch && work->curve;
    size_t doubles = all ? longest * work->axis->total : longest;
    size_t bytes = (slots * groups + PACKED_TOO_FAR) * sizeof(struct stk_weights) +
                   doubles * sizeof(double) + 2 * slots * sizeof(uint32_t);
    char *memory = stk_workspace_get(workspace, where, bytes);
    if (!memory) {
        return STK_DECODE_MEMORY;
    }
    work->weights = (struct stk_weights *)(void *)memory;
    work->row = (double *)(void *)(work->weights + slots * groups + PACKED_TOO_FAR);
    work->all = all ? work->row : NULL;
    work->longest = longest;
    work->first = (uint32_t *)(void *)(work->row + doubles);
    work->lengths = work->first + slots;
    memset(work->first, 0, 2 * slots * sizeof(uint32_t));
    return STK_DECODE_OK;
}

int stk_taps_make(struct stk_workspace *workspace, enum stk_scratch where,
                  const struct stk_axis *axis, struct stk_axis_taps *out)
{
    struct work work;
    const struct stk_kernels *kernels = workspace->kernels;
    start_work(&work, axis);
    int result = allocate(&work, workspace, where);
    if (result) {
        return result;
    }
    find_windows(&work);
    mirror_windows(&work);
    find_bits(&work);
    work.is_short = work.all && kernels->pack_short;
    void (*pack)(struct stk_weights *, size_t) =
        work.is_short ? kernels->pack_short : kernels->pack;
    out->inputs = stk_taps_inputs(work.first, work.lengths, axis->outputs);
    out->taps = (struct stk_taps){
        .outputs = axis->outputs,
        .groups = (out->inputs.longest + 3) / 4,
        .last = (out->inputs.longest - 1) % 4 + 1,
        .bits = work.is_short ? work.bits : 0,
        .first = work.first,
        .weights = work.weights,
    };
    out->lengths = work.lengths;
    size_t count = padded(axis->outputs, STK_ROWS_TOGETHER) * out->taps.groups;
    memset(work.weights, 0, count * sizeof(struct stk_weights));
    for (uint32_t slot = 0; slot < axis->outputs && !result; slot++) {
        result = store_weights(&work, &out->taps, slot);
    }
    if (pack) {
        pack(work.weights, count);
    }
    for (uint32_t o = 0; o < axis->outputs; o++) {
        work.first[o] -= out->inputs.origin;
    }
    return result;
}

void stk_weigh_columns(const struct stk_kernels *kernels, uint8_t *const *out,
                       const uint8_t *const *in, const struct stk_taps *taps)
{
    if (taps->bits > 0) {
        kernels->horizontal_short(out, in, taps);
    } else {
        kernels->horizontal(out, in, taps);
    }
}

void stk_weigh_rows(const struct stk_kernels *kernels, uint8_t *out, const uint8_t *const *rows,
                    const struct stk_taps *taps, uint32_t y, uint32_t groups, size_t pixels)
{
    const struct stk_weights *weights = taps->weights + (size_t)y * taps->groups;
    if (taps->bits > 0) {
        kernels->vertical_short(out, rows, weights, groups, pixels, taps->bits);
    } else {
        kernels->vertical(out, rows, weights, groups, pixels);
    }
}
