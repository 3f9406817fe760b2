/*
 * The geometry of a pipeline, step by step. It draws the numbers that torchvision's transforms draw
 * for an image of a given size, and makes the plan. Knows nothing of Python.
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
     * shape. For a crop anywhere: what the image is padded by (left, top, right, bottom), and the
     * channels that it must have (0: any). For a flip: the probability. */
    double values[6];
};

#define STEPS_MOST 16

struct steps {
    struct step of[STEPS_MOST];
    size_t count;
};

/* The part of a step that is left to be done, since a plan has no place for it. */
enum step_rest {
    REST_NOTHING,
    REST_CROP,   /* to a box that reaches beyond the image */
    REST_RESIZE, /* of an image that was resized or flipped before */
};

/* An image's plan as far as it is made. Only its crop, size, box, filter, flip and window are
 * used. */
struct sketch {
    struct stk_plan plan;
    int64_t width, height; /* of the result so far */
    uint32_t channels;     /* of the image */
    bool changed;          /* a step has done something */
    enum step_rest rest;
    int64_t box[4];     /* REST_CROP: left, top, right, bottom */
    struct step resize; /* REST_RESIZE: filter, height, width */
};

/* Returns the sketch of a whole image. */
struct sketch sketch_begin(uint32_t width, uint32_t height, uint32_t channels);
/*
 * Notes steps from the at-th on. Returns the place of the first step that is not noted; what a
 * noted step has left is in `rest`, and none is noted behind it. A step is not noted if it cannot
 * be done here, or if a draw is not certain to the last bit. It has drawn nothing then. `numbers`
 * is NULL if nothing can be drawn.
 */
size_t sketch_note(struct sketch *sketch, const struct steps *steps, size_t at,
                   struct numbers *numbers);
/* Returns the plan of a sketch without a rest. */
struct stk_plan sketch_plan(const struct sketch *sketch);
/* Returns true if one of the steps from the at-th on may draw a number. */
bool steps_draw(const struct steps *steps, size_t at);

#endif
