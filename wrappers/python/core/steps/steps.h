/*
 * The geometry of a pipeline, step by step. It draws the numbers that torchvision's transforms draw
 * for an image of a given size, and makes the plan. stoker/_torchvision (steps.py, lazy_images.py,
 * rng.py) does this for one image in Python, and also does the steps that are not simple. This file
 * does it for a batch, without Python.
 */
#ifndef STK_PYTHON_STEPS_STEPS_H
#define STK_PYTHON_STEPS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/decode.h"
#include "wrappers/python/core/steps/numbers.h"

/* The numbers are those of steps.py. */
enum step_kind {
    STEP_RESIZE,      /* to height x width; width 0: its shorter edge to `height` */
    STEP_CENTER_CROP, /* of height x width */
    STEP_CROP, /* of height x width, anywhere; both places are drawn unless only one is possible */
    STEP_CROP_EACH, /* the same size; each place is drawn unless only one is possible */
    STEP_REGION,    /* of a drawn size and shape, resized to height x width */
    STEP_FLIP,      /* in the direction that `filter` says (STK_FLIP_*) */
};

struct step {
    int kind;
    int filter; /* enum stk_filter, of a resize */
    uint32_t height, width;
    /* For a region: the limits of its share of the area, of the logarithm of its shape, and of its
     * shape. For a flip: the probability. */
    double values[6];
};

#define STEPS_MOST 16

struct steps {
    struct step of[STEPS_MOST];
    size_t count;
    uint32_t least_side; /* of the result */
};

/*
 * Draws the numbers of the steps for an image of this size, and fills in the plan's crop, size,
 * box, filter, flip and window. Returns false if the steps cannot be done here, or if a draw is not
 * certain to the last bit. `numbers` is unchanged then.
 */
bool steps_plan(const struct steps *steps, uint32_t width, uint32_t height, struct numbers *numbers,
                struct stk_plan *plan);
/* Computes the size of a plan's result. */
void steps_result(const struct stk_plan *plan, uint32_t *width, uint32_t *height);

#endif
