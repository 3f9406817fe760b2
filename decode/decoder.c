/* Decoders: making and freeing. */
#include "decode/decoder.h"

#include <stdlib.h>

#include "decode/decode.h"
#include "decode/jpeg/jpeg.h"
#include "decode/kernels/kernels.h"

struct stk_decoder *stk_decoder_new(void)
{
    struct stk_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder) {
        decoder->workspace.kernels = stk_kernels_select();
    }
    return decoder;
}

void stk_decoder_free(struct stk_decoder *decoder)
{
    if (!decoder) {
        return;
    }
    stk_jpeg_free(decoder->jpeg);
    stk_workspace_free(&decoder->workspace);
    free(decoder);
}

const char *stk_decode_simd(void)
{
    return stk_kernels_select()->name;
}
