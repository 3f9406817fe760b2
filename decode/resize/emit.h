/* The last step: writes lines of four bytes a pixel to the caller's memory, in the wanted layout.
 */
#pragma once

#include <stdbool.h>

#include "decode/resize/geometry.h"
#include "decode/common/workspace.h"
#include "decode/kernels/kernels.h"

struct stk_emit {
    const struct stk_kernels *kernels;
    const struct stk_plan *plan;
    const struct stk_target *target;
    uint32_t width, height;          /* of the result */
    bool clear_fourth;               /* the fourth byte becomes 0 */
    const struct stk_tables *tables; /* for floats of three channels */
};

/* Fills in the struct. Plan and target must outlive it. Returns an error if there is no memory. */
int stk_emit_open(struct stk_emit *emit, struct stk_workspace *workspace,
                  const struct stk_plan *plan, const struct stk_geometry *geometry,
                  const struct stk_target *target);

/* Writes the result's row `y` (before a flip). */
void stk_emit_line(const struct stk_emit *emit, const uint8_t *line, uint32_t y);

/*
 * Makes the tables of 3 x 256 floats, or finds those of the last call, if the floats are the same.
 * Returns NULL if there is no memory. The result is valid until the next call for the workspace.
 */
const struct stk_tables *stk_tables_get(struct stk_workspace *workspace, const float *floats);
