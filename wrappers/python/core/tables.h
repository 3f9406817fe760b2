/*
 * Whether the tables that a JPEG's scan names are there and make sense. libjpeg looks at them only
 * when it begins to decode, which for a plan is later than Pillow's load() would have raised.
 */
#ifndef STK_PYTHON_TABLES_H
#define STK_PYTHON_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a baseline or extended sequential file with one scan of all components, whose header libjpeg
 * can read. False in doubt. */
bool tables_are_sound(const uint8_t *bytes, size_t size);

#endif
