/*
 * The image data of a PNG to rows of pixels, equal to Pillow's, bit for bit.
 *
 * Only what the caller has found to be plain: eight bits a sample, not interlaced. The functions
 * keep no state, so any thread may call them, and a child of a fork. Not for signal handlers.
 * Source of the format: ISO/IEC 15948:2003 (PNG, second edition), chapters 5 (chunks) and 9
 * (filters).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "decode/common/decode_types.h"

/* The caller's memory: rows of `width` pixels, none of which may overlap. */
struct stk_png_rows {
    uint8_t *const *rows;
    uint32_t width, height;
    /* Bytes of a pixel in the file: 1 (grey, or an index of a palette), 3 (RGB) or 4 (RGBA). Pixels
     * of one byte are one byte in the rows; all others are four, and the fourth of RGB is 255. */
    uint32_t pixel_bytes;
};

/*
 * Decodes the data of all IDAT chunks, laid side by side.
 *
 * UNSUPPORTED: built without libdeflate, or the image is too large. CORRUPT: the data is damaged,
 * has another length, or stops early. The rows then hold anything. Check sums of chunks are not
 * compared: Pillow does not compare them either. The one of the compressed stream is.
 */
int stk_png_decode(const void *data, size_t bytes, const struct stk_png_rows *out);
