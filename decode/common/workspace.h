/* The kernels and the scratch memory that the steps of one decoder share. */
#pragma once

#include "decode/common/array.h"

struct stk_kernels; /* decode/kernels/kernels.h */

/* Scratch memory by purpose. Each grows and stays; its contents do not survive a growth. */
enum stk_scratch {
    STK_SCRATCH_TAPS_X,
    STK_SCRATCH_TAPS_Y,
    STK_SCRATCH_BAND,
    STK_SCRATCH_RING,
    STK_SCRATCH_LINES,
    STK_SCRATCH_POINTERS,
    STK_SCRATCH_TABLES,
    STK_SCRATCH_COUNT,
};

struct stk_workspace {
    const struct stk_kernels *kernels;
    struct stk_array scratch[STK_SCRATCH_COUNT];
};

/* Returns at least so many bytes, or NULL if there is no memory. They are valid until the next call
 * for `which`. */
static inline void *stk_workspace_get(struct stk_workspace *workspace, enum stk_scratch which,
                                      size_t bytes)
{
    return stk_array_get(&workspace->scratch[which], bytes);
}

/* Frees all scratch memory. */
static inline void stk_workspace_free(struct stk_workspace *workspace)
{
    for (int i = 0; i < STK_SCRATCH_COUNT; i++) {
        stk_array_free(&workspace->scratch[i], 0);
    }
}
