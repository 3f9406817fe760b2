/* The resize filters: the weight at a distance, and the largest distance. */
#pragma once

#include "decode/common/decode_types.h"

struct stk_filter_curve {
    /* Turns distances into weights. Distances are in input pixels, or in output pixels if these are
     * larger. */
    void (*weigh)(double *row, uint32_t length);
    double support;
};

/* Returns a filter's curve; NULL for the nearest, which has none, and for an unknown number. */
const struct stk_filter_curve *stk_filter_curve_get(enum stk_filter filter);
