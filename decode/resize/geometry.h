/* A plan, checked and made plain: the part to decode, and the passes. */
#pragma once

#include <stdbool.h>

#include "decode/common/decode_types.h"
#include "decode/resize/taps.h"

struct stk_geometry {
    struct stk_region crop; /* in the image */
    struct stk_axis x, y;   /* the passes, if they are made; see pass_x and pass_y */
    bool pass_x, pass_y;    /* true if the pass is made */
    bool vertical_first;
    bool resized;           /* by a filter with weights */
    bool by_floats;         /* both passes are made by resize/floats.h */
    uint32_t width, height; /* of the result */
};

/* Checks the plan against an image's size, and the target against the plan. */
int stk_geometry_make(const struct stk_plan *plan, const struct stk_target *target, uint32_t width,
                      uint32_t height, struct stk_geometry *out);

/* Flips the result's columns: a pass with reversed taps. The axis must not be reversed yet. */
void stk_geometry_flip(struct stk_geometry *geometry);
