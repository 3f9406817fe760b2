/* Decoders and their scratch memory. */
#include "decode/decoder.h"

#include <stdlib.h>

#include "decode/decode.h"
#include "decode/jpeg.h"

#define ALIGNMENT ((size_t)64)

struct stk_decoder *stk_decoder_new(void)
{
    struct stk_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder) {
        decoder->kernels = stk_kernels_select();
    }
    return decoder;
}

void stk_decoder_free(struct stk_decoder *decoder)
{
    if (!decoder) {
        return;
    }
    stk_jpeg_free(decoder->jpeg);
    for (int i = 0; i < STK_SCRATCH_COUNT; i++) {
        free(decoder->scratch[i].data);
    }
    free(decoder);
}

void *stk_scratch_get(struct stk_decoder *decoder, enum stk_scratch which, size_t bytes)
{
    if (decoder->scratch[which].bytes < bytes) {
        bytes = (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
        free(decoder->scratch[which].data);
        decoder->scratch[which].data = aligned_alloc(ALIGNMENT, bytes);
        decoder->scratch[which].bytes = decoder->scratch[which].data ? bytes : 0;
    }
    return decoder->scratch[which].data;
}

const char *stk_decode_simd(void)
{
    return stk_kernels_select()->name;
}
