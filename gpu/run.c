/* A plan on this processor: each byte's number is looked up. See gpu/plan.h. */
#include "gpu/host.h"
#include "gpu/plan.h"

/* One channel of one row of a window, as it lies in the image and in what comes out. */
struct line {
    const uint8_t *from;     /* the image's first column that the window shows */
    const uint32_t *numbers; /* what each byte becomes */
    uint32_t fill;
    uint32_t begin, end, columns; /* where the image's columns lie in the window; its own */
};

/* Numbers `step` apart, which is negative where the window is flipped. The loops are made for each
 * type and each distance of the bytes, so that nothing is decided for each number. */
#define STORE_LINE(name, type, channels)                                                           \
    static void name(const struct line *line, type *to, ptrdiff_t step)                            \
    {                                                                                              \
        const uint8_t *from = line->from;                                                          \
        uint32_t i = 0;                                                                            \
        for (; i < line->begin; i++, to += step) {                                                 \
            *to = (type)line->fill;                                                                \
        }                                                                                          \
        for (; i < line->end; i++, to += step, from += (channels)) {                               \
            *to = (type)line->numbers[*from];                                                      \
        }                                                                                          \
        for (; i < line->columns; i++, to += step) {                                               \
            *to = (type)line->fill;                                                                \
        }                                                                                          \
    }

STORE_LINE(store_words_1, uint32_t, 1)
STORE_LINE(store_words_3, uint32_t, 3)
STORE_LINE(store_halves_1, uint16_t, 1)
STORE_LINE(store_halves_3, uint16_t, 3)

static void store_line(const struct stk_gpu_plan *plan, const struct line *line, void *out,
                       size_t offset, ptrdiff_t step)
{
    uint32_t *words = (uint32_t *)out + offset;
    uint16_t *halves = (uint16_t *)out + offset;
    bool is_grey = plan->channels == 1;
    if (plan->type == STK_GPU_F32) {
        (is_grey ? store_words_1 : store_words_3)(line, words, step);
    } else {
        (is_grey ? store_halves_1 : store_halves_3)(line, halves, step);
    }
}

static uint32_t limited(int64_t value, uint32_t most)
{
    return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

/* `share` is whose mean and fill it has. */
static struct line find_line(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image,
                             uint32_t row, uint32_t channel, uint32_t share)
{
    int64_t y = (int64_t)image->top + row, left = image->left;
    bool is_there = y >= 0 && y < image->height;
    struct line line = {
        .numbers = plan->numbers[share],
        .fill = plan->numbers[share][plan->fill[share]],
        .begin = is_there ? limited(-left, plan->width) : 0,
        .end = is_there ? limited((int64_t)image->width - left, plan->width) : 0,
        .columns = plan->width,
    };
    if (line.begin < line.end) {
        line.from = (const uint8_t *)(uintptr_t)image->pixels + (size_t)y * image->stride +
                    (size_t)(line.begin + left) * plan->channels + channel;
    }
    return line;
}

/* How far the first number of a channel's row lies from the batch's. */
static size_t line_offset(const struct stk_gpu_plan *plan, size_t image, uint32_t row,
                          uint32_t channel)
{
    if (plan->layout == STK_GPU_NHWC) {
        return (image * plan->height + row) * plan->width * plan->channels + channel;
    }
    return ((image * plan->channels + channel) * plan->height + row) * plan->width;
}

static void run_row(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image,
                    size_t which, uint32_t row, void *out)
{
    ptrdiff_t step = plan->layout == STK_GPU_NHWC ? (ptrdiff_t)plan->channels : 1;
    for (uint32_t c = 0; c < plan->channels; c++) {
        uint32_t share = c + (uint32_t)(which % plan->planes);
        struct line line = find_line(plan, image, row, c, share);
        size_t offset = line_offset(plan, which, row, c);
        if (image->flip) {
            offset += (size_t)step * (plan->width - 1);
        }
        store_line(plan, &line, out, offset, image->flip ? -step : step);
    }
}

void stk_gpu_plan_run(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                      size_t first, size_t last, void *out)
{
    for (size_t i = first; i < last; i++) {
        for (uint32_t row = 0; row < plan->height; row++) {
            run_row(plan, &images[i], i, row, out);
        }
    }
}
