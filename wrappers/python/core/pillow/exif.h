/* Results of the functions for EXIF data, and types of values. */
#pragma once

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
