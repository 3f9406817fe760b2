/* The taps of a resize: which inputs make up an output along one axis, and with what weights. */
#ifndef STK_DECODE_TAPS_H
#define STK_DECODE_TAPS_H

#include <stdbool.h>

#include "decode/decode.h"
#include "decode/decoder.h"

struct stk_axis {
    uint32_t size;    /* of the input */
    float from, to;   /* the part of it that is resized */
    uint32_t total;   /* positions of the whole result */
    uint32_t skipped; /* of them, those before the first that is wanted; */
    uint32_t outputs; /* and how many are */
    enum stk_filter filter;
    bool reversed; /* the outputs in reverse order */
};

struct stk_axis_taps {
    struct stk_taps taps; /* first[] counts from `origin` */
    const uint32_t *lengths;
    uint32_t origin, used; /* the inputs that count at all: `used` of them from `origin` on */
    uint32_t longest;      /* of the lengths */
};

/* Valid until the next call for the same scratch memory. `block` is the kernels', or 1. */
int stk_taps_make(struct stk_decoder *decoder, enum stk_scratch where, uint32_t block,
                  const struct stk_axis *axis, struct stk_axis_taps *out);

#endif
