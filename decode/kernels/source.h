/* Takes blocks one by one from coefficients, whose differences of DC may stand apart. */
#pragma once

#include "decode/kernels/kernels.h"

/* Writes the next block as libjpeg has it. `block` must be all zeros before. */
void stk_source_play(struct stk_source *next, const struct stk_kernels *kernels, int16_t block[64],
                     unsigned component);
