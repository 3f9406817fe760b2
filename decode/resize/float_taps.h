/* The taps of torch's bilinear resize of floats, with antialiasing. */
#pragma once

#include "decode/common/workspace.h"
#include "decode/kernels/kernels.h"
#include "decode/resize/taps.h"

struct stk_float_axis_taps {
    struct stk_float_taps taps; /* first[] counts from the origin */
    struct stk_inputs inputs;
};

/* Makes the taps of an axis. They are valid until the next call for that scratch memory. Returns
 * UNSUPPORTED if an output has no input. */
int stk_float_taps_make(struct stk_workspace *workspace, enum stk_scratch where,
                        const struct stk_axis *axis, struct stk_float_axis_taps *out);
