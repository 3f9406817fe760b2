/*
 * Files above STOKER_MAX_FILE. A tier has blocks of such a file (cache/big/blocks.h) until it has
 * all of them; then the file is an entry like any other. Until then the program's descriptor stays
 * the origin's own, so all calls that Stoker does not see behave as usual. Reads by that descriptor
 * are answered from the blocks.
 *
 *   stk_big_note      a file was opened that may be read so
 *   stk_big_hold      is this descriptor such a file's, as of now? Let it go afterwards.
 *   stk_big_ensure    have these bytes in blocks, filling missing ones
 *   stk_big_deliver   read them from there
 *   stk_big_finish    have the rest, for a map or a stream
 *
 * The rules of versions (cache/version/freshness.h) hold at each read: a block is of the version
 * that the file had when it was opened, and no change is known since. Lock-free, no heap; safe in
 * threads, after fork and in signal handlers. A read waits for another process's fill as an open
 * does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cache/big/big_table.h"

/* Notes that `fd` has been opened (not before `opened_ns`) as this place, which has that record and
 * is large. Returns false if all its reads go to the origin. */
bool stk_big_note(struct stk_cache *cache, const struct stk_place *place, uint32_t record, int fd,
                  int64_t opened_ns);

/* Returns true if a version has its entry. Waits for one that is being made. */
bool stk_big_is_entry(struct stk_cache *cache, uint32_t record);

/* Returns the big file of a descriptor that was opened only for reading, or NULL: read the origin.
 */
struct stk_big *stk_big_hold(struct stk_cache *cache, int fd);

/* Returns the length of the version. */
static inline uint64_t stk_big_size(const struct stk_big *big)
{
    return big->blocks.size;
}

/* Has all blocks of a part of the file that lies below its end. `fd` is the program's. Returns
 * false if the origin is to be read. */
bool stk_big_ensure(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t offset,
                    uint64_t bytes);

/* Reads from the blocks. Returns the number of bytes, or a negative number: read the origin. */
ssize_t stk_big_deliver(struct stk_cache *cache, struct stk_big *big, const struct iovec *parts,
                        int count, uint64_t offset);

/* Copies all missing blocks of a file that is not larger than STOKER_WHOLE, for uses that blocks
 * cannot serve. Returns false if the file is no entry then. */
bool stk_big_finish(struct stk_cache *cache, struct stk_big *big, int fd);
/* Opens the entry that the file has become, close-on-exec. Returns the descriptor, which the caller
 * closes, or -errno. */
int stk_big_open_entry(const struct stk_big *big);

/* ---- for fillers of whole files ---- */

/* Returns true if a large file of that name has blocks. */
bool stk_big_may_be(const struct stk_cache *cache, const char *leaf);
/* Opens a big file of the caller's own, outside of the table and for one thread, which the caller
 * closes. Returns NONE, or the reason against filling it. */
enum stk_bypass stk_big_open(struct stk_big *big, struct stk_cache *cache,
                             const struct stk_place *place, uint32_t record, int fd,
                             int64_t opened_ns);
/* Reads whole blocks into the caller's buffer of a block's bytes, which must stay. Call it if the
 * kernel keeps nothing of what is read by the descriptor (O_DIRECT). */
void stk_big_read_directly(struct stk_big *big, char *buffer);
void stk_big_close(struct stk_big *big);
/* Has one block, and no more. `filled`: this call filled it. */
bool stk_big_have(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                  bool *filled);
/* Returns why a block could not be filled. */
enum stk_bypass stk_big_reason(struct stk_cache *cache, const struct stk_big *big);

/* ---- for reads of the origin until the file is whole ---- */

/* Waits until this file is whole, and so an entry, where opens wait for big files. */
bool stk_big_await(struct stk_cache *cache, int fd);
