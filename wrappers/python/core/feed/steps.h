/*
 * The geometry of a pipeline, step by step: what torchvision's transforms draw of an image of some
 * size, and the plan that comes of it. stoker/_torchvision (steps.py, pictures.py, draws.py) does
 * the same for one image in Python, and all that is not simple: here it is for a batch, without
 * Python.
 */
#ifndef STK_PYTHON_FEED_STEPS_H
#define STK_PYTHON_FEED_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/decode.h"
#include "wrappers/python/core/feed/numbers.h"

/* Their numbers are steps.py's. */
enum step_kind {
    STEP_RESIZE,      /* to height x width; width 0: its shorter edge to `height` */
    STEP_CENTER_CROP, /* of height x width */
    STEP_CROP,        /* the same, anywhere; both places are drawn unless there is but one */
    STEP_CROP_EACH,   /* each place is drawn unless there is but one */
    STEP_REGION,      /* of some size and shape, resized to height x width */
    STEP_FLIP,        /* in the direction that `filter` says (STK_FLIP_*) */
};

struct step {
    int kind;
    int filter; /* enum stk_filter, of a resize */
    uint32_t height, width;
    /* Of a region: the least and most of its share of the area, of its shape's logarithm, and of
     * its shape. Of a flip: its probability. */
    double values[6];
};

#define STEPS_MOST 16

struct steps {
    struct step of[STEPS_MOST];
    size_t count;
    uint32_t least_side; /* of what they make */
};

/*
 * Draws what the steps draw of an image of this size, and fills in the plan's crop, size, box,
 * filter, flip and window. False: the steps are not for here, or what they draw is not certain to
 * the last bit. The numbers are as they were then.
 */
bool steps_plan(const struct steps *steps, uint32_t width, uint32_t height, struct numbers *numbers,
                struct stk_plan *plan);
/* The size of what a plan makes. */
void steps_result(const struct stk_plan *plan, uint32_t *width, uint32_t *height);

#endif
