/* The decoder of a thread. */
#pragma once

#include "decode/decode.h"
#include "wrappers/python/core/common/limited_api.h"

/* Returns this thread's decoder, made at the first call and freed when the thread ends. Returns
 * NULL if there is no memory. */
struct stk_decoder *thread_decoder(void);

/* Makes one call with this thread's `decoder`, without the GIL, and sets `status` to its result:
 * STK_DECODE_MEMORY if there is no decoder. */
#define BY_DECODER(status, call)                                                                   \
    do {                                                                                           \
        struct stk_decoder *decoder = thread_decoder();                                            \
        (status) = STK_DECODE_MEMORY;                                                              \
        if (decoder != NULL) {                                                                     \
            Py_BEGIN_ALLOW_THREADS;                                                                \
            (status) = (call);                                                                     \
            Py_END_ALLOW_THREADS;                                                                  \
        }                                                                                          \
    } while (0)
