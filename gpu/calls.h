/* A table of a library's calls, found by their names when the library is loaded. */
#ifndef STK_GPU_CALLS_H
#define STK_GPU_CALLS_H

#include <stddef.h>

struct stk_gpu_call {
    const char *symbol;
    size_t offset; /* of the pointer to it in what is filled */
};

/* Fills in pointers to all of them; or gives the name of the first that is not there. */
const char *stk_gpu_calls_find(void *library, const struct stk_gpu_call *calls, size_t count,
                               void *into);

#endif
