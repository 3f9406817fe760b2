/*
 * The outline of a JPEG's header: all of it but the Huffman tables, the size, the EXIF data and the
 * index of several images (MPF). Files with equal outlines differ only in these. Tables mean
 * nothing to an image that was opened but not loaded, and for the others Pillow has places of its
 * own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OUTLINE_BYTES 4096

/*
 * Writes the outline of a header that ends with its first SOS segment: all other segments in their
 * order, the frame with a size of 0, EXIF and MPF as their marks without a length. Returns its
 * bytes. Returns 0 if they would be more than OUTLINE_BYTES, or if the header is not a plain row of
 * well-known segments, with at most one of EXIF and one of MPF.
 */
size_t outline_of(const uint8_t *header, size_t bytes, uint8_t out[OUTLINE_BYTES]);
