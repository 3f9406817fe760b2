/* The compressed stream of a PNG. */
#include "decode/png/png.h"

#include <stdlib.h>
#include <string.h>

#include "decode/common/limits.h"
#include "decode/png/unfilter.h"

#ifdef STK_HAS_DEFLATE
#include <libdeflate.h>

static int inflate(const void *data, size_t bytes, uint8_t *out, size_t wanted)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (!decompressor) {
        return STK_DECODE_MEMORY;
    }
    size_t used; /* bytes behind the stream are no error to Pillow */
    enum libdeflate_result result =
        libdeflate_zlib_decompress_ex(decompressor, data, bytes, out, wanted, &used, NULL);
    libdeflate_free_decompressor(decompressor);
    return result == LIBDEFLATE_SUCCESS ? STK_DECODE_OK : STK_DECODE_CORRUPT;
}

/* Takes back the filters of all rows. `above` is a row of zeros. */
static int unfilter_all(const struct stk_png_rows *out, const uint8_t *filtered,
                        const uint8_t *above)
{
    size_t stride = 1 + (size_t)out->width * out->pixel_bytes;
    for (uint32_t y = 0; y < out->height; y++) {
        if (!stk_unfilter(out->rows[y], above, filtered + y * stride, out->width,
                          out->pixel_bytes)) {
            return STK_DECODE_CORRUPT;
        }
        above = out->rows[y];
    }
    return STK_DECODE_OK;
}

int stk_png_decode(const void *data, size_t bytes, const struct stk_png_rows *out)
{
    size_t zeros = (size_t)out->width * 4;
    size_t filtered = (1 + (size_t)out->width * out->pixel_bytes) * out->height;
    if ((uint64_t)out->width * out->height > STK_LIMIT_PIXELS) {
        return STK_DECODE_UNSUPPORTED;
    }
    uint8_t *memory = malloc(zeros + filtered + STK_UNFILTER_SLACK);
    if (!memory) {
        return STK_DECODE_MEMORY;
    }
    memset(memory, 0, zeros);
    int result = inflate(data, bytes, memory + zeros, filtered);
    result = result ? result : unfilter_all(out, memory + zeros, memory);
    free(memory);
    return result;
}

#else

int stk_png_decode(const void *data, size_t bytes, const struct stk_png_rows *out)
{
    (void)data, (void)bytes, (void)out;
    return STK_DECODE_UNSUPPORTED;
}

#endif
