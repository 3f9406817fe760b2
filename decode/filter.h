/* The resize filters: their weight at a distance, and how far they reach. */
#ifndef STK_DECODE_FILTER_H
#define STK_DECODE_FILTER_H

#include "decode/decode.h"

struct stk_filter_curve {
    /* From distances, in units of input pixels, or of output ones if larger, to weights. */
    void (*weigh)(double *row, uint32_t length);
    double support;
};

/* NULL for the nearest, which has no curve, and for what is no filter. */
const struct stk_filter_curve *stk_filter_curve_get(enum stk_filter filter);

#endif
