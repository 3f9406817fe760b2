/* The kernels and the scratch memory that the steps of one decoder share. */
#pragma once

#include <stddef.h>

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
    struct {
        void *data;
        size_t bytes;
    } scratch[STK_SCRATCH_COUNT];
};

/* Returns at least so many bytes, aligned to 64, or NULL if there is no memory. They are valid
 * until the next call for `which`. */
void *stk_workspace_get(struct stk_workspace *workspace, enum stk_scratch which, size_t bytes);

/* Frees all scratch memory. */
void stk_workspace_free(struct stk_workspace *workspace);
