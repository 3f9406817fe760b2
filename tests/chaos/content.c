/* The content of a file's version. See content.h. */
#include "content.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_WORDS (CONTENT_BLOCK_BYTES / sizeof(uint64_t))

/* The word of that number: the stamp itself at the beginning of a block, noise of it elsewhere. */
static uint64_t word_of(uint64_t stamp, size_t number)
{
    if (number % BLOCK_WORDS == 0) {
        return stamp;
    }
    uint64_t x = (stamp + 1) * UINT64_C(0x9e3779b97f4a7c15) + number;
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 29;
}

void content_make(uint64_t stamp, size_t at, char *out, size_t length)
{
    for (size_t done = 0; done < length; done += sizeof(uint64_t)) {
        uint64_t word = word_of(stamp, (at + done) / sizeof word);
        memcpy(out + done, &word, sizeof word);
    }
}

/* Returns true if the bytes from `begin` to `end` are of this stamp; all offsets are those of the
 * file. */
static bool is_of(uint64_t stamp, const char *bytes, size_t at, size_t begin, size_t end)
{
    for (size_t offset = begin; offset < end;) {
        uint64_t word = word_of(stamp, offset / sizeof word);
        size_t inside = offset % sizeof word, some = sizeof word - inside;
        some = some < end - offset ? some : end - offset;
        if (memcmp((const char *)&word + inside, bytes + (offset - at), some) != 0) {
            return false;
        }
        offset += some;
    }
    return true;
}

/* The stamp at the beginning of the first block that begins within the range, or SILENT. */
static uint64_t first_stamp(const char *bytes, size_t length, size_t at)
{
    size_t block = (at + CONTENT_BLOCK_BYTES - 1) / CONTENT_BLOCK_BYTES * CONTENT_BLOCK_BYTES;
    uint64_t stamp = CONTENT_SILENT;
    if (block + sizeof stamp <= at + length) {
        memcpy(&stamp, bytes + (block - at), sizeof stamp);
    }
    return stamp;
}

uint64_t content_judge(const char *bytes, size_t length, size_t at)
{
    uint64_t stamp = first_stamp(bytes, length, at);
    if (stamp <= CONTENT_SILENT) {
        return stamp;
    }
    return is_of(stamp, bytes, at, at, at + length) ? stamp : CONTENT_TORN;
}

/* Judges the block that begins at `offset`, as far as it lies in the range. */
static uint64_t block_of(const char *bytes, size_t length, size_t at, size_t offset)
{
    size_t end =
        at + length < offset + CONTENT_BLOCK_BYTES ? at + length : offset + CONTENT_BLOCK_BYTES;
    return content_judge(bytes + (offset - at), end - offset, offset);
}

void content_explain(const char *bytes, size_t length, size_t at, char *out, size_t out_bytes)
{
    size_t first = (at + CONTENT_BLOCK_BYTES - 1) / CONTENT_BLOCK_BYTES * CONTENT_BLOCK_BYTES;
    size_t used = 0;
    uint64_t before = CONTENT_SILENT;
    out[0] = '\0';
    for (size_t offset = first; offset < at + length && used + 60 < out_bytes;
         offset += CONTENT_BLOCK_BYTES) {
        uint64_t stamp = block_of(bytes, length, at, offset);
        if (stamp != before && stamp != CONTENT_SILENT) {
            uint64_t zero = 0;
            bool zeros = stamp == CONTENT_TORN && memcmp(bytes + (offset - at), &zero, 1) == 0;
            used += (size_t)snprintf(out + used, out_bytes - used, "%s%s%llx from %zu",
                                     used > 0 ? ", " : "", zeros ? "zeros " : "",
                                     (unsigned long long)stamp, offset);
        }
        before = stamp;
    }
}
