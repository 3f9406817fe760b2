/* Crops of turned images, and the exchange of axes. */
#include "decode/resize/turn.h"

#define BLOCK 16 /* pixels: a line of the processor's cache */

bool stk_turn_region(const struct stk_plan *plan, uint32_t width, uint32_t height,
                     struct stk_region *out)
{
    unsigned axis = plan->turn & STK_EXCHANGE_AXES ? 1 : 0;
    int64_t left = plan->crop[axis], right = plan->crop[2 + axis];
    int64_t top = plan->crop[1 - axis], bottom = plan->crop[3 - axis];
    if (left < 0 || top < 0 || left >= right || top >= bottom || right > width || bottom > height) {
        return false;
    }
    *out = (struct stk_region){(uint32_t)left, (uint32_t)top, (uint32_t)(right - left),
                               (uint32_t)(bottom - top)};
    if (plan->turn & STK_FLIP_HORIZONTAL) {
        out->left = width - (uint32_t)right;
    }
    if (plan->turn & STK_FLIP_VERTICAL) {
        out->top = height - (uint32_t)bottom;
    }
    return true;
}

static void exchange_block(const uint32_t *from, uint32_t width, uint32_t height, uint32_t columns,
                           uint32_t rows, uint32_t *to)
{
    for (uint32_t x = 0; x < columns; x++) {
        for (uint32_t y = 0; y < rows; y++) {
            to[(size_t)x * height + y] = from[(size_t)y * width + x];
        }
    }
}

void stk_turn_exchange(const uint32_t *from, uint32_t width, uint32_t height, uint32_t *to)
{
    for (uint32_t y = 0; y < height; y += BLOCK) {
        uint32_t rows = height - y < BLOCK ? height - y : BLOCK;
        for (uint32_t x = 0; x < width; x += BLOCK) {
            uint32_t columns = width - x < BLOCK ? width - x : BLOCK;
            exchange_block(from + (size_t)y * width + x, width, height, columns, rows,
                           to + (size_t)x * height + y);
        }
    }
}
