/*
 * The outline of a JPEG's header: all of it but the Huffman tables and the size. An image that was
 * opened but not loaded depends on nothing else. Files with equal outlines differ only in these
 * two.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OUTLINE_BYTES 4096

/*
 * Writes the outline of a header that ends with its first SOS segment: all other segments in their
 * order, the frame with a size of 0. Returns its bytes. Returns 0 if they would be more than
 * OUTLINE_BYTES, or if the header is not a plain row of well-known segments.
 */
size_t outline_of(const uint8_t *header, size_t bytes, uint8_t out[OUTLINE_BYTES]);
