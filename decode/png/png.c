/* Chunks of a PNG, and the compressed stream that lies in them. */
#include "decode/png/png.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "decode/common/limits.h"
#include "decode/png/unfilter.h"

#ifdef STK_HAS_DEFLATE
#include <libdeflate.h>

#define CHECK_BYTES  4u /* a chunk's check sum, behind its data */
#define HEADER_BYTES 8u /* a chunk's length and type, before its data */

/* A chunk of image data. */
struct chunk {
    const uint8_t *data;
    size_t bytes;
};

static uint32_t four_bytes(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Finds the chunk behind this one. Returns false if it is none of image data, or is cut short. */
static bool next_chunk(struct chunk *chunk, const uint8_t *end)
{
    const uint8_t *at = chunk->data + chunk->bytes;
    if ((size_t)(end - at) < CHECK_BYTES + HEADER_BYTES ||
        memcmp(at + CHECK_BYTES + 4, "IDAT", 4) != 0) {
        return false;
    }
    size_t bytes = four_bytes(at + CHECK_BYTES);
    at += CHECK_BYTES + HEADER_BYTES;
    if (bytes > (size_t)(end - at)) {
        return false;
    }
    *chunk = (struct chunk){at, bytes};
    return true;
}

/* Lays the chunks' data side by side in `out`, if it is not NULL. Returns their bytes; `last` is
 * the last chunk. */
static size_t join(struct chunk first, const uint8_t *end, uint8_t *out, struct chunk *last)
{
    size_t total = 0;
    *last = first;
    do {
        if (out) {
            memcpy(out + total, last->data, last->bytes);
        }
        total += last->bytes;
    } while (next_chunk(last, end));
    return total;
}

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

/* Inflates the chunks' data to `wanted` bytes. */
static int inflate_chunks(struct chunk first, const uint8_t *end, uint8_t *out, size_t wanted,
                          struct chunk *last)
{
    size_t total = join(first, end, NULL, last);
    if (last->data == first.data) {
        return inflate(first.data, first.bytes, out, wanted);
    }
    uint8_t *joined = malloc(total);
    if (!joined) {
        return STK_DECODE_MEMORY;
    }
    join(first, end, joined, last);
    int result = inflate(joined, total, out, wanted);
    free(joined);
    return result;
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

int stk_png_decode(const void *data, size_t bytes, size_t length, const struct stk_png_rows *out,
                   size_t *end)
{
    struct chunk first = {data, length}, last;
    size_t zeros = (size_t)out->width * 4;
    size_t filtered = (1 + (size_t)out->width * out->pixel_bytes) * out->height;
    if ((uint64_t)out->width * out->height > STK_LIMIT_PIXELS) {
        return STK_DECODE_UNSUPPORTED;
    }
    if (length > bytes) {
        return STK_DECODE_CORRUPT;
    }
    uint8_t *memory = malloc(zeros + filtered + STK_UNFILTER_SLACK);
    if (!memory) {
        return STK_DECODE_MEMORY;
    }
    memset(memory, 0, zeros);
    const uint8_t *behind = (const uint8_t *)data + bytes;
    int result = inflate_chunks(first, behind, memory + zeros, filtered, &last);
    result = result ? result : unfilter_all(out, memory + zeros, memory);
    free(memory);
    *end = (size_t)(last.data - first.data) + last.bytes;
    return result;
}

#else

int stk_png_decode(const void *data, size_t bytes, size_t length, const struct stk_png_rows *out,
                   size_t *end)
{
    (void)data, (void)bytes, (void)length, (void)out, (void)end;
    return STK_DECODE_UNSUPPORTED;
}

#endif
