/* Scratch memory of a decoder. */
#include "decode/common/workspace.h"

#include <stdlib.h>

#define ALIGNMENT ((size_t)64)

void *stk_workspace_get(struct stk_workspace *workspace, enum stk_scratch which, size_t bytes)
{
    if (workspace->scratch[which].bytes < bytes) {
        bytes = (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
        free(workspace->scratch[which].data);
        workspace->scratch[which].data = aligned_alloc(ALIGNMENT, bytes);
        workspace->scratch[which].bytes = workspace->scratch[which].data ? bytes : 0;
    }
    return workspace->scratch[which].data;
}

void stk_workspace_free(struct stk_workspace *workspace)
{
    for (int i = 0; i < STK_SCRATCH_COUNT; i++) {
        free(workspace->scratch[i].data);
    }
}
