#include "wrappers/python/core/decode/tables.h"

#include <string.h>

#define COMPONENTS 3
#define TABLES     4

/* The contents of the segments before the scan. */
struct header {
    bool quantization[TABLES], dc[TABLES], ac[TABLES]; /* there, and sound */
    uint8_t uses[COMPONENTS];                          /* the components' quantization tables */
    uint8_t components;
    bool has_frame;
};

static bool read_quantization(struct header *header, const uint8_t *at, size_t left)
{
    while (left > 0) {
        size_t bytes = 1 + ((at[0] >> 4) != 0 ? 128u : 64u);
        if ((at[0] & 15) >= TABLES || left < bytes) {
            return false;
        }
        header->quantization[at[0] & 15] = true;
        at += bytes;
        left -= bytes;
    }
    return true;
}

/* Codes must fit into their lengths; symbols of a DC table count bits. */
static bool is_huffman_table(const uint8_t counts[16], const uint8_t *symbols, bool dc)
{
    unsigned code = 0, total = 0;
    for (int length = 1; length <= 16; length++) {
        code += counts[length - 1];
        total += counts[length - 1];
        if (counts[length - 1] > 0 && code >= 1u << length) {
            return false;
        }
        code <<= 1;
    }
    for (unsigned i = 0; dc && i < total; i++) {
        if (symbols[i] > 15) {
            return false;
        }
    }
    return true;
}

static bool read_huffman(struct header *header, const uint8_t *at, size_t left)
{
    while (left > 0) {
        size_t total = 0;
        for (int i = 1; left >= 17 && i <= 16; i++) {
            total += at[i];
        }
        if (left < 17 + total || total > 256 || (at[0] & 0xef) >= TABLES) {
            return false;
        }
        bool dc = at[0] < 16;
        (dc ? header->dc : header->ac)[at[0] & 15] = is_huffman_table(at + 1, at + 17, dc);
        at += 17 + total;
        left -= 17 + total;
    }
    return true;
}

static bool read_frame(struct header *header, const uint8_t *at, size_t left)
{
    if (header->has_frame || left < 6 || at[0] != 8 || (at[5] != 1 && at[5] != COMPONENTS) ||
        left != 6 + 3 * (size_t)at[5]) {
        return false;
    }
    header->components = at[5];
    for (int i = 0; i < header->components; i++) {
        header->uses[i] = at[6 + 3 * i + 2];
    }
    header->has_frame = true;
    return true;
}

static bool read_scan(const struct header *header, const uint8_t *at, size_t left)
{
    if (!header->has_frame || left != 4 + 2 * (size_t)header->components ||
        at[0] != header->components) {
        return false;
    }
    for (int i = 0; i < header->components; i++) {
        uint8_t tables = at[1 + 2 * i + 1], uses = header->uses[i];
        if (uses >= TABLES || !header->quantization[uses] || (tables >> 4) >= TABLES ||
            (tables & 15) >= TABLES || !header->dc[tables >> 4] || !header->ac[tables & 15]) {
            return false;
        }
    }
    return true;
}

/* One segment; whether to go on. `out` is set at the scan. */
static bool read_segment(struct header *header, uint8_t marker, const uint8_t *at, size_t left,
                         bool *out)
{
    switch (marker) {
    case 0xdb:
        return read_quantization(header, at, left);
    case 0xc4:
        return read_huffman(header, at, left);
    case 0xc0:
    case 0xc1:
        return read_frame(header, at, left);
    case 0xda:
        *out = read_scan(header, at, left);
        return false;
    case 0xdd:
    case 0xfe:
        return true;
    default:
        return marker >= 0xe0 && marker <= 0xef;
    }
}

bool tables_are_sound(const uint8_t *bytes, size_t size)
{
    struct header header;
    bool sound = false;
    memset(&header, 0, sizeof header);
    size_t at = 2;
    while (size - at >= 4 && at < size && bytes[at] == 0xff) {
        if (bytes[at + 1] == 0xff) {
            at++; /* a fill byte */
            continue;
        }
        size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (length < 2 || length > size - at - 2 ||
            !read_segment(&header, bytes[at + 1], bytes + at + 4, length - 2, &sound)) {
            break;
        }
        at += 2 + length;
    }
    return sound;
}
