/*
 * The geometry of a pipeline, step by step. It draws the numbers that torchvision's transforms draw
 * for an image of a given size, and makes the plan. Knows nothing of Python.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/decode.h"
#include "wrappers/python/core/steps/numbers.h"

enum step_kind {
#define STEP(kind) STEP_##kind,
#include "wrappers/python/core/steps/kinds.def"
#undef STEP
};

struct step {
    int kind;
    int filter; /* enum stk_filter, of a resize */
    uint32_t height, width;
    union {
        double values[6]; /* as Python passes them */
        struct {
            double least_share, most_share; /* of the image's area */
            double least_log, most_log;     /* of the shape */
            double least_shape, most_shape;
        } region;
        struct {
            double left, top, right, bottom; /* by which the image is padded */
            double channels;                 /* that it must have; 0: any */
        } pad;                               /* of a crop anywhere */
        struct {
            double left, top;
        } place;            /* of a box */
        double probability; /* of a flip */
    };
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
