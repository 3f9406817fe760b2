/*
 * The outline of a JPEG's header: all of it but the Huffman tables, the size, the EXIF data and the
 * index of several images (MPF). Files with equal outlines differ only in these. Tables mean
 * nothing to an image that was opened but not loaded, and for the others Pillow has places of its
 * own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTLINE_BYTES 4096

struct outline {
    uint8_t data[OUTLINE_BYTES];
    size_t bytes, header_bytes; /* of the outline; of the header, which ends with the first SOS */
    uint32_t width, height;
};

/*
 * Makes the outline of a JPEG's header: all segments up to its first SOS segment, in their order,
 * the frame with a size of 0, EXIF and MPF as their marks without a length. Returns false if they
 * would be more than OUTLINE_BYTES, or if the header is not a plain row of well-known segments,
 * with at most one of EXIF and one of MPF.
 */
bool outline_make(const uint8_t *jpeg, size_t bytes, struct outline *out);
