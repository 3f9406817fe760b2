/* The filters of a PNG's rows, taken back. Any thread; no state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes behind the last filtered row are read. */
#define STK_UNFILTER_SLACK 1

/*
 * Makes a row of pixels of a filtered row, which begins with the number of its filter. A pixel has
 * 1, 3 or 4 bytes there; in `out` and `above` it has 1 or 4, and the fourth of three is 255.
 * `above` is the row before, or zeros. Returns false if there is no such filter.
 */
bool stk_unfilter(uint8_t *out, const uint8_t *above, const uint8_t *filtered, size_t pixels,
                  uint32_t pixel_bytes);
