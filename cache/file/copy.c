/* Copies the bytes of a file. See cache/file/fill.h. */
#include "cache/file/fill.h"

#include <errno.h>

#include "base/sys.h"
#include "cache/catalogue/claim.h"
#include "cache/entry/checksum.h"
#include "cache/origin/buffer.h"
#include "cache/origin/database.h"

#define CHUNK_BYTES STK_BUFFER_BYTES
#define PIECE_BYTES (128 << 10) /* the kernel fetches at once by default */
#define LIMIT_BYTES 4096        /* what a file system gives at once is a multiple of it */

_Static_assert(CHUNK_BYTES % STK_CHECKSUM_UNIT_BYTES == 0, "a chunk is a piece of a checksum");

/* A piece that is smaller than what was asked for and ends where the file shall end is the last
 * one. An even piece may be all that the file system gives at once. */
static bool is_last(const struct stk_fill *fill, off_t end)
{
    return (uint64_t)end == fill->record->size && end % LIMIT_BYTES != 0;
}

/* A direct read prepares all that it asks for, so a chunk asks for no more than the file has, and
 * for one byte that it shall not have. */
static size_t wanted_at(const struct stk_fill *fill, off_t offset)
{
    uint64_t left = fill->record->size - (uint64_t)offset + 1;
    return left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
}

/* A whole chunk, whatever the origin gives at a time; less only where it ends. */
static ssize_t read_chunk(const struct stk_fill *fill, char *buffer, off_t offset)
{
    const size_t wanted = wanted_at(fill, offset);
    size_t bytes = 0;
    while (bytes < wanted) {
        off_t at = offset + (off_t)bytes;
        ssize_t got = stk_origin_read(&fill->origin, buffer + bytes, wanted - bytes, at);
        if (got < 0) {
            return got;
        }
        bytes += (size_t)got;
        if (got == 0 || (bytes < wanted && is_last(fill, at + got))) {
            break;
        }
    }
    return (ssize_t)bytes;
}

static enum stk_bypass check_content(const char *buffer, ssize_t bytes, off_t offset)
{
    return stk_database_is_shared(buffer, (uint64_t)bytes, (uint64_t)offset) ? STK_BYPASS_DATABASE
                                                                             : STK_BYPASS_NONE;
}

static enum stk_bypass write_chunk(struct stk_fill *fill, const struct stk_entry_draft *draft,
                                   const char *buffer, size_t bytes, off_t offset)
{
    int error = stk_entry_write(draft, buffer, bytes, offset);
    if (error != 0) {
        return stk_entry_build_why(error);
    }
    if (fill->build.tier->shared->memory == 0) {
        fill->check += stk_checksum_of(buffer, bytes, (uint64_t)offset);
    }
    stk_big_queue_note_reading(stk_run_big_queue(&fill->cache->run), STK_BIG_QUEUE_GOES_ON);
    return stk_claim_advance(&fill->record->claim)
               ? STK_BYPASS_NONE
               : STK_BYPASS_STUCK; /* another process thought us dead, and fills it now */
}

/* Copies until the end of the origin, which must be exactly where its identity says. */
static enum stk_bypass copy_chunks(struct stk_fill *fill, const struct stk_entry_draft *draft,
                                   char *buffer)
{
    const uint64_t size = fill->record->size;
    for (off_t offset = 0;;) {
        ssize_t got = read_chunk(fill, buffer, offset);
        if (got < 0 || (uint64_t)offset + (uint64_t)got > size) {
            return STK_BYPASS_CHANGED;
        }
        enum stk_bypass why = check_content(buffer, got, offset);
        if (why == STK_BYPASS_NONE && got > 0) {
            why = write_chunk(fill, draft, buffer, (size_t)got, offset);
        }
        if (why != STK_BYPASS_NONE) {
            return why;
        }
        offset += got;
        if (got < CHUNK_BYTES) {
            return (uint64_t)offset == size ? STK_BYPASS_NONE : STK_BYPASS_CHANGED;
        }
    }
}

enum stk_bypass stk_fill_copy(struct stk_fill *fill, const struct stk_entry_draft *draft)
{
    char *buffer = stk_buffer_take();
    if (buffer == NULL) {
        return STK_BYPASS_LIMIT; /* TIER would say to all processes that the tier is full */
    }
    const struct stk_origin theirs = fill->origin;
    bool large = fill->record->size > PIECE_BYTES;
    stk_origin_take(&fill->origin, fill->place->root);
    stk_origin_write_out(&fill->origin);
    if (large) {
        stk_origin_read_through(&fill->origin, true);
    }
    stk_big_queue_note_reading(stk_run_big_queue(&fill->cache->run), STK_BIG_QUEUE_BEGINS);
    enum stk_bypass why = copy_chunks(fill, draft, buffer);
    stk_big_queue_note_reading(stk_run_big_queue(&fill->cache->run), STK_BIG_QUEUE_ENDS);
    if (large) {
        stk_origin_read_through(&fill->origin, false); /* the program may keep it */
    }
    stk_origin_release(&fill->origin, &theirs);
    stk_buffer_put(buffer);
    return why;
}

/* ---- entries that are there already ---- */

/* The check sum of what a descriptor reads. It may be another file's number by now, whose bytes
 * have another one. */
static bool check_bytes(const struct stk_fill *fill, int fd, uint64_t *check)
{
    char *buffer = stk_buffer_take();
    ssize_t got = buffer != NULL ? (ssize_t)CHUNK_BYTES : -ENOMEM;
    *check = 0;
    for (off_t offset = 0; got == CHUNK_BYTES; offset += got) {
        got = stk_sys_pread(fd, buffer, CHUNK_BYTES, offset);
        if (got > 0) {
            *check += stk_checksum_of(buffer, (size_t)got, (uint64_t)offset);
        }
        if (!stk_claim_advance(&fill->record->claim)) {
            got = -EBUSY;
        }
    }
    if (buffer != NULL) {
        stk_buffer_put(buffer);
    }
    return got >= 0;
}

/* Returns true if an entry on a disk has the bytes that it was given. */
static bool has_its_bytes(const struct stk_fill *fill, int fd, const struct stat *stat)
{
    uint64_t given, found;
    if (stk_checksum_is_of_this_boot(stat)) {
        return true;
    }
    if (!stk_checksum_get(fill->build.path, &given) || !check_bytes(fill, fd, &found) ||
        given != found) {
        return false;
    }
    stk_checksum_renew(fill->build.path, stat);
    return true;
}

/* The length of an entry that was in the tier before the machine started proves nothing about its
 * bytes. A file with a second name is no entry, but was put there. */
bool stk_fill_is_whole(const struct stk_fill *fill, int fd, struct stat *stat)
{
    return stk_sys_fstat(fd, stat) == 0 && S_ISREG(stat->st_mode) &&
           (uint64_t)stat->st_size == fill->record->size && stat->st_uid == stk_sys_geteuid() &&
           stat->st_nlink == 1 &&
           (fill->build.tier->shared->memory != 0 || has_its_bytes(fill, fd, stat));
}
