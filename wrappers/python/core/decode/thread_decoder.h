/* The decoder of a thread. */
#ifndef STK_PYTHON_DECODE_THREAD_DECODER_H
#define STK_PYTHON_DECODE_THREAD_DECODER_H

#include "decode/decode.h"

/* Returns this thread's decoder, made at the first call and freed when the thread ends. Returns
 * NULL if there is no memory. */
struct stk_decoder *thread_decoder(void);

#endif
