/* The outline of a JPEG's header. See outline.h. */
#include "wrappers/python/core/decode/outline.h"

#include <stdbool.h>
#include <string.h>

#define HEAD_BYTES    4 /* of a segment: its marker and its length */
#define SIZE_AT       5 /* in a frame's segment: the image's height and width */
#define SIZE_BYTES    4
#define HUFFMAN_TABLE 0xc4
#define SCAN          0xda

static bool is_frame(uint8_t marker)
{
    return marker >= 0xc0 && marker <= 0xc2;
}

/* Tables, restart intervals, scans, comments, segments of applications, and frames with a size. */
static bool is_known(uint8_t marker, size_t bytes)
{
    return marker == HUFFMAN_TABLE || marker == SCAN || marker == 0xdb || marker == 0xdd ||
           marker == 0xfe || (marker >= 0xe0 && marker <= 0xef) ||
           (is_frame(marker) && bytes >= SIZE_AT + SIZE_BYTES);
}

size_t outline_of(const uint8_t *header, size_t bytes, uint8_t out[OUTLINE_BYTES])
{
    size_t at = 2, length = 0;
    unsigned frames = 0;
    while (bytes >= at + HEAD_BYTES && header[at] == 0xff) {
        uint8_t marker = header[at + 1];
        size_t segment = 2 + ((size_t)header[at + 2] << 8 | header[at + 3]);
        size_t kept = marker == HUFFMAN_TABLE ? 0 : segment;
        if (segment < HEAD_BYTES || segment > bytes - at || kept > OUTLINE_BYTES - length ||
            !is_known(marker, segment)) {
            return 0;
        }
        memcpy(out + length, header + at, kept);
        if (is_frame(marker)) {
            memset(out + length + SIZE_AT, 0, SIZE_BYTES);
            frames++;
        }
        length += kept;
        at += segment;
        if (marker == SCAN) {
            return at == bytes && frames == 1 ? length : 0;
        }
    }
    return 0;
}
