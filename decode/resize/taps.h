/* The taps of a resize: the inputs of each output along one axis, and their weights. */
#pragma once

#include <stdbool.h>

#include "decode/common/decode_types.h"
#include "decode/common/workspace.h"
#include "decode/kernels/kernels.h"

struct stk_axis {
    uint32_t size;    /* of the input */
    float from, to;   /* the part of the input that is resized */
    uint32_t total;   /* positions of the whole result */
    uint32_t skipped; /* positions before the first wanted one */
    uint32_t outputs; /* wanted positions */
    enum stk_filter filter;
    bool reversed; /* the outputs in reverse order */
    bool mirrored; /* the inputs lie in reverse order; weights are those of their right order */
    bool is_torch; /* weights are rounded as torch's are: see taps.c */
};

/* The inputs that count: `used` of them from `origin` on. */
struct stk_inputs {
    uint32_t origin, used;
    uint32_t longest; /* of the lengths */
};

struct stk_axis_taps {
    struct stk_taps taps; /* first[] counts from the origin */
    const uint32_t *lengths;
    struct stk_inputs inputs;
};

/* Finds the inputs that the windows of all outputs cover together. A window without inputs counts
 * as one. */
struct stk_inputs stk_taps_inputs(const uint32_t *first, const uint32_t *lengths, uint32_t outputs);

/* Makes the taps of an axis. They are valid until the next call for that scratch memory. */
int stk_taps_make(struct stk_workspace *workspace, enum stk_scratch where,
                  const struct stk_axis *axis, struct stk_axis_taps *out);

/* The kernels' passes, for weights of either kind: STK_ROWS_TOGETHER rows along, and the output row
 * y of `groups` groups of rows. */
void stk_weigh_columns(const struct stk_kernels *kernels, uint8_t *const *out,
                       const uint8_t *const *in, const struct stk_taps *taps);
void stk_weigh_rows(const struct stk_kernels *kernels, uint8_t *out, const uint8_t *const *rows,
                    const struct stk_taps *taps, uint32_t y, uint32_t groups, size_t pixels);

/* ---- float_taps.c: of torch's bilinear resize of floats, with antialiasing ---- */

struct stk_float_axis_taps {
    struct stk_float_taps taps; /* first[] counts from the origin */
    struct stk_inputs inputs;
};

/* Makes the taps of an axis. They are valid until the next call for that scratch memory. Returns
 * UNSUPPORTED if an output has no input. */
int stk_float_taps_make(struct stk_workspace *workspace, enum stk_scratch where,
                        const struct stk_axis *axis, struct stk_float_axis_taps *out);
