/* A plan that was checked and made plain: what is decoded, and which passes it takes. */
#ifndef STK_DECODE_GEOMETRY_H
#define STK_DECODE_GEOMETRY_H

#include <stdbool.h>

#include "decode/jpeg.h"
#include "decode/taps.h"

struct stk_geometry {
    struct stk_region crop; /* in the image */
    struct stk_axis x, y;   /* the passes, if */
    bool pass_x, pass_y;    /* they are made at all */
    bool vertical_first;
    bool resized;           /* by a filter that weighs */
    uint32_t width, height; /* of the result */
};

/* Checks the plan against an image's size, and the target against the plan. */
int stk_geometry_make(const struct stk_plan *plan, const struct stk_target *target, uint32_t width,
                      uint32_t height, struct stk_geometry *out);

#endif
