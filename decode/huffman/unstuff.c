/* Pieces between 0xff and 0xff are copied as they are: on average, of 256 bytes. */
#include "decode/huffman/unstuff.h"

#include <string.h>

#define MARKER_RST0 0xd0
#define MARKER_RST7 0xd7
#define MARKER_EOI  0xd9

/* Fill bytes before a marker are left to libjpeg. */
static bool is_end(uint8_t marker, bool more_scans)
{
    bool restart = marker >= MARKER_RST0 && marker <= MARKER_RST7;
    return marker == MARKER_EOI || (more_scans && !restart && marker != 0xff);
}

int64_t stk_unstuff(uint8_t *out, const uint8_t *bytes, size_t size, bool more_scans,
                    const struct stk_intervals *intervals, size_t *scan_end)
{
    const uint8_t *at = bytes, *end = bytes + size, *mark;
    uint8_t *to = out;
    uint32_t found = 0;
    intervals->begin[found++] = 0;
    while (end - at >= 2 && (mark = memchr(at, 0xff, (size_t)(end - at) - 1)) != NULL) {
        size_t length = (size_t)(mark - at) + 1; /* with the 0xff */
        memcpy(to, at, length);
        to += length;
        at = mark + 2;
        if (mark[1] == 0) {
            continue;
        }
        to--; /* it belongs to a marker */
        if (is_end(mark[1], more_scans)) {
            *scan_end = (size_t)(mark - bytes);
            intervals->begin[found] = (uint32_t)(to - out);
            return found == intervals->count ? to - out : -1;
        }
        if (found == intervals->count || mark[1] != MARKER_RST0 + (found - 1) % 8) {
            return -1;
        }
        intervals->begin[found++] = (uint32_t)(to - out);
    }
    return -1;
}
