#include "wrappers/python/core/decode/outline.h"

#include <string.h>

#define HEAD_BYTES    4 /* of a segment: its marker and its length */
#define LENGTH_AT     2 /* in a segment */
#define LENGTH_BYTES  2
#define SIZE_AT       5 /* in a frame's segment: the image's height and width */
#define SIZE_BYTES    4
#define MARK_AT       HEAD_BYTES
#define EXIF_BYTES    6 /* of its mark */
#define MPF_BYTES     4 /* of its mark */
#define HUFFMAN_TABLE 0xc4
#define APP1          0xe1
#define APP2          0xe2
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

static bool has_mark(const uint8_t *segment, size_t bytes, const char *mark, size_t mark_bytes)
{
    return bytes >= MARK_AT + mark_bytes && memcmp(segment + MARK_AT, mark, mark_bytes) == 0;
}

/* Returns the bytes of the mark of EXIF data or of an index of images; 0 for another segment. */
static size_t marked(const uint8_t *segment, size_t bytes)
{
    return segment[1] == APP1   ? EXIF_BYTES * has_mark(segment, bytes, "Exif\0", EXIF_BYTES)
           : segment[1] == APP2 ? MPF_BYTES * has_mark(segment, bytes, "MPF", MPF_BYTES)
                                : 0;
}

/* Returns the bytes of a segment that its outline has. */
static size_t kept_of(const uint8_t *segment, size_t bytes, size_t mark)
{
    return segment[1] == HUFFMAN_TABLE ? 0 : mark != 0 ? MARK_AT + mark : bytes;
}

static uint32_t number_at(const uint8_t *place)
{
    return (uint32_t)place[0] << 8 | place[1];
}

/* Notes the size of a frame, and clears it in the outline's copy of the segment. */
static void take_size(struct outline *out, const uint8_t *segment, uint8_t *copy)
{
    out->height = number_at(segment + SIZE_AT);
    out->width = number_at(segment + SIZE_AT + 2);
    memset(copy + SIZE_AT, 0, SIZE_BYTES);
}

bool outline_make(const uint8_t *jpeg, size_t bytes, struct outline *out)
{
    size_t at = 2;
    unsigned frames = 0, marks[2] = {0}; /* of EXIF data and of an index */
    out->bytes = 0;
    while (bytes >= at + HEAD_BYTES && jpeg[at] == 0xff) {
        uint8_t marker = jpeg[at + 1], *copy = out->data + out->bytes;
        size_t segment = 2 + (size_t)number_at(jpeg + at + LENGTH_AT);
        if (segment < HEAD_BYTES || segment > bytes - at || !is_known(marker, segment)) {
            return false;
        }
        size_t mark = marked(jpeg + at, segment), kept = kept_of(jpeg + at, segment, mark);
        if (kept > OUTLINE_BYTES - out->bytes || (mark != 0 && marks[marker - APP1]++ != 0)) {
            return false;
        }
        memcpy(copy, jpeg + at, kept);
        if (mark != 0) {
            memset(copy + LENGTH_AT, 0, LENGTH_BYTES);
        }
        if (is_frame(marker)) {
            take_size(out, jpeg + at, copy);
            frames++;
        }
        out->bytes += kept;
        at += segment;
        if (marker == SCAN) {
            out->header_bytes = at;
            return frames == 1 && jpeg[0] == 0xff && jpeg[1] == 0xd8;
        }
    }
    return false;
}
