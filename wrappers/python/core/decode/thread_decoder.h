/* The decoder of a thread. */
#pragma once

#include "decode/decode.h"

/* Returns this thread's decoder, made at the first call and freed when the thread ends. Returns
 * NULL if there is no memory. */
struct stk_decoder *thread_decoder(void);
