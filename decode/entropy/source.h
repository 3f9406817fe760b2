/* Blocks one after the other, out of coefficients whose differences of DC may stand apart. */
#ifndef STK_DECODE_ENTROPY_SOURCE_H
#define STK_DECODE_ENTROPY_SOURCE_H

#include "decode/kernels/kernels.h"

/* The next block, as libjpeg has it: `block` is all zeros before. */
void stk_source_play(struct stk_source *next, const struct stk_kernels *kernels, int16_t block[64],
                     unsigned component);

#endif
