/* Calls by their names. See gpu/calls.h. */
#include "gpu/calls.h"

#include <dlfcn.h>
#include <string.h>

const char *stk_gpu_calls_find(void *library, const struct stk_gpu_call *calls, size_t count,
                               void *into)
{
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(library, calls[i].symbol);
        if (call == NULL) {
            return calls[i].symbol;
        }
        memcpy((char *)into + calls[i].offset, &call, sizeof call);
    }
    return NULL;
}
