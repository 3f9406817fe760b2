/* Walks from marker to marker, up to the frame's. */
#include "decode/decode.h"

#define MARKER_SOI 0xd8
#define FILL       0xff /* any number of them may stand in front of a marker */

/* Returns true for a marker that begins a frame; other ones from SOF0 on define tables or
 * extensions. */
static bool is_frame(uint8_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Returns true for a segment with a length, among those in a header. */
static bool has_length(uint8_t marker)
{
    return (marker >= 0xc0 && marker <= 0xcf) || (marker >= 0xdb && marker <= 0xfe);
}

static uint32_t two_bytes(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

bool stk_decode_frame(const void *data, size_t size, struct stk_frame *out)
{
    const uint8_t *at = data, *end = at + size;
    if (size < 2 || at[0] != 0xff || at[1] != MARKER_SOI) {
        return false;
    }
    at += 2;
    while (end - at >= 10 && at[0] == 0xff && (at[1] == FILL || has_length(at[1]))) {
        if (at[1] == FILL) {
            at++;
            continue;
        }
        if (is_frame(at[1])) {
            bool is_whole = end - at >= 10 + 3 * (ptrdiff_t)at[9];
            *out = (struct stk_frame){two_bytes(at + 7), two_bytes(at + 5), at[9],
                                      is_whole ? at + 11 : NULL};
            return true;
        }
        size_t length = 2 + (size_t)two_bytes(at + 2);
        if (length < 4 || length > (size_t)(end - at)) {
            return false;
        }
        at += length;
    }
    return false;
}
