/* Results of the functions for EXIF data, types of values, and numbers in either order of bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIF_ENTRY_BYTES 12 /* of a tag in a directory */

enum { EXIF_ERROR = -1, EXIF_LEFT, EXIF_DONE };

/* Types of TIFF's values. */
enum {
    EXIF_BYTE = 1,
    EXIF_ASCII = 2,
    EXIF_SHORT = 3,
    EXIF_LONG = 4,
    EXIF_RATIONAL = 5,
    EXIF_UNDEFINED = 7,
    EXIF_SIGNED_RATIONAL = 10
};

static inline void exif_put_number(uint8_t *to, size_t bytes, uint32_t number, bool little)
{
    for (size_t i = 0; i < bytes; i++) {
        to[little ? i : bytes - 1 - i] = (uint8_t)(number >> 8 * i);
    }
}
