/* A table of a library's calls, found by their names when the library is loaded. */
#ifndef STK_GPU_CALLS_H
#define STK_GPU_CALLS_H

#include <stddef.h>

struct stk_gpu_call {
    const char *symbol;
    size_t offset; /* of the pointer in the struct to be filled */
};

/* Fills in pointers to all calls. Returns NULL, or the name of the first that is missing. */
const char *stk_gpu_calls_find(void *library, const struct stk_gpu_call *calls, size_t count,
                               void *into);

#endif
