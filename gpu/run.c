/* A plan on this processor: each byte's number is looked up. See gpu/plan.h. */
#include "gpu/host.h"
#include "gpu/plan.h"

/* One channel of one row of a window, as it lies in the image and in what comes out. */
struct line {
    const uint8_t *from;     /* the row's first byte of this channel; NULL: there is no such row */
    const uint32_t *numbers; /* what each byte becomes */
    uint32_t fill;
    int64_t left, width; /* the image's first column as the window counts; its columns */
    bool flip;
};

/* What stands at a column of the window before it is flipped. */
static inline uint32_t number_at(const struct line *line, int64_t column, uint32_t channels)
{
    int64_t there = column - line->left;
    bool inside = line->from != NULL && there >= 0 && there < line->width;
    return inside ? line->numbers[line->from[there * channels]] : line->fill;
}

/* The loops are made for each step, so that none of it is decided for each number. */
#define STORE_LINE(name, type)                                                                     \
    static void name(const struct line *line, uint32_t channels, uint32_t columns, type *to,       \
                     uint32_t step)                                                                \
    {                                                                                              \
        for (uint32_t i = 0; i < columns; i++) {                                                   \
            int64_t column = line->flip ? (int64_t)columns - 1 - i : i;                            \
            to[(size_t)i * step] = (type)number_at(line, column, channels);                        \
        }                                                                                          \
    }

STORE_LINE(store_words, uint32_t)
STORE_LINE(store_halves, uint16_t)

static struct line find_line(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image,
                             uint32_t row, uint32_t channel)
{
    int64_t there = (int64_t)image->top + row;
    struct line line = {
        .numbers = plan->numbers[channel],
        .fill = plan->numbers[channel][plan->fill[channel]],
        .left = -(int64_t)image->left,
        .width = image->width,
        .flip = image->flip != 0,
    };
    if (there >= 0 && there < image->height) {
        const uint8_t *pixels = (const uint8_t *)(uintptr_t)image->pixels;
        line.from = pixels + (size_t)there * image->stride + channel;
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
    uint32_t step = plan->layout == STK_GPU_NHWC ? plan->channels : 1;
    for (uint32_t c = 0; c < plan->channels; c++) {
        struct line line = find_line(plan, image, row, c);
        size_t offset = line_offset(plan, which, row, c);
        if (plan->type == STK_GPU_F32) {
            store_words(&line, plan->channels, plan->width, (uint32_t *)out + offset, step);
        } else {
            store_halves(&line, plan->channels, plan->width, (uint16_t *)out + offset, step);
        }
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
