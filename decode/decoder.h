/* What a decoder holds. Only for decode/ itself. */
#ifndef STK_DECODE_DECODER_H
#define STK_DECODE_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/kernels/kernels.h"

/* Scratch memory by purpose. Each grows and stays; its contents do not survive a growth. */
enum stk_scratch {
    STK_SCRATCH_TAPS_X,
    STK_SCRATCH_TAPS_Y,
    STK_SCRATCH_BAND,
    STK_SCRATCH_RING,
    STK_SCRATCH_LINES,
    STK_SCRATCH_POINTERS,
    STK_SCRATCH_COUNT,
};

struct stk_jpeg; /* libjpeg's objects: decode/jpeg.h */

struct stk_decoder {
    const struct stk_kernels *kernels;
    struct stk_jpeg *jpeg; /* made at the first JPEG */
    struct {
        void *data;
        size_t bytes;
    } scratch[STK_SCRATCH_COUNT];
};

/* At least so many bytes, aligned to 64; NULL: no memory. Valid until the next call for `which`. */
void *stk_scratch_get(struct stk_decoder *decoder, enum stk_scratch which, size_t bytes);

#endif
