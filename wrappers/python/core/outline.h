/*
 * What an image that was opened, but not loaded, can depend on of its JPEG's header: all of it but
 * the Huffman tables. Files whose headers have one outline differ in these and in their size.
 */
#ifndef STK_PYTHON_OUTLINE_H
#define STK_PYTHON_OUTLINE_H

#include <stddef.h>
#include <stdint.h>

#define OUTLINE_BYTES 4096

/*
 * The outline of a header that ends with its first SOS segment, in `out`: all other segments in
 * their order, the frame with a size of 0. How many bytes it has; 0 where it would be longer, or
 * where anything but well-known segments is in the header, one behind the other.
 */
size_t outline_of(const uint8_t *header, size_t bytes, uint8_t out[OUTLINE_BYTES]);

#endif
