/*
 * Checks the tables that a JPEG's scan names. libjpeg reads them only when it begins to decode.
 * With a plan that is later than Pillow's load() would have raised an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if the tables are there and sound; false in doubt. The file must be baseline or
 * extended sequential, with one scan of all components, and a header that libjpeg can read. */
bool tables_are_sound(const uint8_t *bytes, size_t size);
