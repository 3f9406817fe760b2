/* A turn becomes another way to read the image: passes with exchanged axes and mirrored inputs. */
#include "decode/resize/turn.h"

#include <string.h>

#define SMALL 4 /* pixels of a vector */

typedef uint32_t four __attribute__((vector_size(16)));

static uint32_t swap(uint32_t *one, uint32_t other)
{
    uint32_t before = *one;
    *one = other;
    return before;
}

static void exchange_axes(struct stk_geometry *geometry)
{
    struct stk_axis x = geometry->x;
    bool pass_x = geometry->pass_x;
    geometry->x = geometry->y;
    geometry->y = x;
    geometry->pass_x = geometry->pass_y;
    geometry->pass_y = pass_x;
    geometry->vertical_first = !geometry->vertical_first;
    geometry->crop.top = swap(&geometry->crop.left, geometry->crop.top);
    geometry->crop.height = swap(&geometry->crop.width, geometry->crop.height);
    geometry->height = swap(&geometry->width, geometry->height);
}

/* Rows come from above, so the vertical pass makes its result upside down as well. */
static void mirror(struct stk_geometry *geometry, unsigned turn, uint32_t width, uint32_t height)
{
    struct stk_region *crop = &geometry->crop;
    if (turn & STK_FLIP_HORIZONTAL) {
        crop->left = width - crop->left - crop->width;
        geometry->x.mirrored = true;
    }
    if (turn & STK_FLIP_VERTICAL) {
        crop->top = height - crop->top - crop->height;
        geometry->y.mirrored = geometry->y.reversed = true;
    }
}

static unsigned exchanged_flip(unsigned flip)
{
    return (flip & STK_FLIP_HORIZONTAL ? STK_FLIP_VERTICAL : 0U) |
           (flip & STK_FLIP_VERTICAL ? STK_FLIP_HORIZONTAL : 0U);
}

int stk_turn_geometry(struct stk_plan *plan, const struct stk_target *target, uint32_t width,
                      uint32_t height, struct stk_geometry *out)
{
    bool exchanged = plan->turn & STK_EXCHANGE_AXES;
    unsigned turn = plan->turn, flip = exchanged ? exchanged_flip(plan->flip) : plan->flip;
    if (plan->channels < 3 || turn > 7 || plan->flip > 3) {
        return STK_DECODE_ARGUMENT;
    }
    plan->flip = 0;
    int result = exchanged ? stk_geometry_make(plan, target, height, width, out)
                           : stk_geometry_make(plan, target, width, height, out);
    if (result) {
        return result;
    }
    if (exchanged) {
        exchange_axes(out);
    }
    mirror(out, turn, width, height);
    if ((out->pass_x ? flip : flip ^ turn) & STK_FLIP_HORIZONTAL) {
        stk_geometry_flip(out);
    }
    plan->flip = (flip ^ turn) & STK_FLIP_VERTICAL;
    return STK_DECODE_OK;
}

static four load(const uint32_t *from)
{
    four row;
    memcpy(&row, from, sizeof row);
    return row;
}

/* Exchanges the axes of 4 x 4 pixels. */
static void exchange_small(const uint32_t *from, size_t width, size_t height, uint32_t *to)
{
    four a = load(from), b = load(from + width), c = load(from + 2 * width),
         d = load(from + 3 * width);
    four low = __builtin_shufflevector(a, c, 0, 4, 1, 5),
         high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    four other_low = __builtin_shufflevector(b, d, 0, 4, 1, 5),
         other_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    four out[SMALL] = {__builtin_shufflevector(low, other_low, 0, 4, 1, 5),
                       __builtin_shufflevector(low, other_low, 2, 6, 3, 7),
                       __builtin_shufflevector(high, other_high, 0, 4, 1, 5),
                       __builtin_shufflevector(high, other_high, 2, 6, 3, 7)};
    for (size_t x = 0; x < SMALL; x++) {
        memcpy(to + x * height, &out[x], sizeof out[x]);
    }
}

static uint32_t least(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* Exchanges the axes of up to 4 x 4 pixels. */
static void exchange_few(const uint32_t *from, size_t width, size_t height, uint32_t columns,
                         uint32_t rows, uint32_t *to)
{
    if (columns >= SMALL && rows >= SMALL) {
        exchange_small(from, width, height, to);
        return;
    }
    for (uint32_t x = 0; x < least(columns, SMALL); x++) {
        for (uint32_t y = 0; y < least(rows, SMALL); y++) {
            to[x * height + y] = from[y * width + x];
        }
    }
}

static void exchange_block(const uint32_t *from, size_t width, size_t height, uint32_t columns,
                           uint32_t rows, uint32_t *to)
{
    for (uint32_t x = 0; x < columns; x += SMALL) {
        for (uint32_t y = 0; y < rows; y += SMALL) {
            exchange_few(from + y * width + x, width, height, columns - x, rows - y,
                         to + x * height + y);
        }
    }
}

void stk_turn_columns(const uint32_t *from, uint32_t width, uint32_t height, uint32_t x,
                      uint32_t count, uint32_t *to)
{
    for (uint32_t y = 0; y < height; y += STK_TURN_COLUMNS) {
        exchange_block(from + (size_t)y * width + x, width, height, count,
                       least(height - y, STK_TURN_COLUMNS), to + y);
    }
}

void stk_turn_exchange(const uint32_t *from, uint32_t width, uint32_t height, uint32_t *to)
{
    for (uint32_t x = 0; x < width; x += STK_TURN_COLUMNS) {
        stk_turn_columns(from, width, height, x, least(width - x, STK_TURN_COLUMNS),
                         to + (size_t)x * height);
    }
}
