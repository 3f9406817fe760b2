/*
 * The outline of a JPEG's header: all of it but the Huffman tables, the size and the EXIF data.
 * Files with equal outlines differ only in these three. Tables mean nothing to an image that was
 * opened but not loaded, and for the two others Pillow has places of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OUTLINE_BYTES 4096

/*
 * Writes the outline of a header that ends with its first SOS segment: all other segments in their
 * order, the frame with a size of 0, the EXIF segment as its mark without a length. Returns its
 * bytes. Returns 0 if they would be more than OUTLINE_BYTES, or if the header is not a plain row of
 * well-known segments, with at most one of EXIF.
 */
size_t outline_of(const uint8_t *header, size_t bytes, uint8_t out[OUTLINE_BYTES]);
