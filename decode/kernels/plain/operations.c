/* Pillow's operations on any processor. */
#define LOOP      static
#define LANES     4
#define WARP      stk_plain_warp
#define LOOK_UP   stk_plain_look_up
#define SLIDE_BOX slide_box
#include "decode/kernels/operation_loops.h"

void stk_plain_look_up(uint8_t *restrict out, const uint8_t *restrict in, const uint8_t *tables,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load_pixel(in + 4 * i);
        uint32_t red = tables[pixel & 255], green = tables[256 + (pixel >> 8 & 255)];
        uint32_t blue = tables[512 + (pixel >> 16 & 255)];
        store_pixel(out + 4 * i, red | green << 8 | blue << 16);
    }
}

const struct stk_operations stk_operations_plain = OPERATIONS;
