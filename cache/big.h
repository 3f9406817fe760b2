/*
 * Big files: those above STOKER_MAX_FILE, of which a tier has blocks (cache/blocks.h) until it has
 * all of them, and the file is an entry as any other. Until then a program's descriptor stays the
 * origin's own, so that whatever nobody sees is right; what is read by it comes from the blocks.
 *
 * Files are known by device and inode, of which this process keeps a table: numbers of descriptors
 * are closed, duplicated and used again behind our back. The table has a limit; who finds no room
 * in it, or any doubt, reads the origin.
 *
 *   stk_big_note      a file was opened that may be read so
 *   stk_big_hold      is this descriptor such a file's, as of now? To be let go.
 *   stk_big_ensure    have these bytes in blocks, filling what is missing
 *   stk_big_deliver   read them from there
 *   stk_big_finish    have the rest, for a map or a stream
 *
 * The rules of versions (cache/trust.h) hold at each read: a block is of the version that the file
 * had when it was opened, and nothing is known to have changed it since. Lock-free, no heap; safe
 * in threads, after fork and in signal handlers. A read waits for another process's fill as an open
 * does.
 */
#ifndef STK_CACHE_BIG_H
#define STK_CACHE_BIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cache/blocks.h"
#include "cache/cache.h"

enum { STK_BIG_UNKNOWN, STK_BIG_KEPT, STK_BIG_NOT_KEPT };

/* One big file of this process. */
struct stk_big {
    _Atomic int32_t users; /* readers; -1: it is being changed */
    uint32_t record;
    _Atomic uint64_t dev, ino; /* 0: none */
    _Atomic uint64_t turn;     /* when it was last looked for */
    int64_t opened_ns;         /* a time before it was opened */
    _Atomic uint64_t ticket;   /* by which those who finish it know it (cache/begun.h), or 0 */
    struct stk_hash128 key;    /* of its place */
    const struct stk_root *root;
    _Atomic uint64_t read_until;   /* where the last read ended */
    _Atomic int kept;              /* of what is read at the origin, in memory */
    _Atomic uint32_t ahead_blocks; /* how far a reader from front to back is run ahead of */
    _Atomic bool streamed;         /* libc reads it as well: that shall find it in memory */
    bool ours;                     /* its descriptor, too: it is for nothing but filling */
    struct stk_blocks blocks;
    char entry[STK_PATH_BYTES]; /* what it becomes */
};

/* Not 0 once there was one in this process. */
extern _Atomic uint32_t stk_big_count;

/* False in nearly all processes. */
static inline bool stk_big_is_any(void)
{
    return atomic_load_explicit(&stk_big_count, memory_order_relaxed) != 0;
}

/* Notes that `fd` has been opened (not before `opened_ns`) as this place, which has that record
 * and is large. False: all of it will be the origin's. */
bool stk_big_note(struct stk_cache *cache, const struct stk_place *place, uint32_t record, int fd,
                  int64_t opened_ns);

/* The big file of a descriptor that was opened for nothing but reading; NULL: the origin is to be
 * read. */
struct stk_big *stk_big_hold(struct stk_cache *cache, int fd);
void stk_big_let_go(struct stk_big *big);

/* How long the version is. */
static inline uint64_t stk_big_size(const struct stk_big *big)
{
    return big->blocks.size;
}

/* Has all blocks of a part of the file be there, which lies below its end. False: the origin is to
 * be read. `fd`: the program's. */
bool stk_big_ensure(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t offset,
                    uint64_t bytes);

/* Reads them; how many there were, or a negative number: the origin is to be read. */
ssize_t stk_big_deliver(struct stk_cache *cache, struct stk_big *big, const struct iovec *parts,
                        int count, uint64_t offset);

/*
 * What blocks cannot serve. Copies all that is missing of a file that is not larger than
 * STOKER_WHOLE; false: it is no entry.
 */
bool stk_big_finish(struct stk_cache *cache, struct stk_big *big, int fd);
/* The entry that it has become, closed on exec; -errno. The caller closes it. */
int stk_big_open_entry(const struct stk_big *big);

/* ---- for those who want all of it ---- */

/* Whether a file of that name has blocks, if it is large. */
bool stk_big_may_be(const struct stk_cache *cache, const char *leaf);
/* The same as stk_big_note for a file of the caller's own, outside of the table and for one thread;
 * to be closed. NONE, or why it is not to be filled. */
enum stk_bypass stk_big_open(struct stk_big *big, struct stk_cache *cache,
                             const struct stk_place *place, uint32_t record, int fd,
                             int64_t opened_ns);
void stk_big_close(struct stk_big *big);
/* Has one block be there, and no more; `filled`: by this call, and nobody else. */
bool stk_big_have(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                  bool *filled);
/* Why a block could not be had. */
enum stk_bypass stk_big_reason(struct stk_cache *cache, const struct stk_big *big);

/* ---- for what reads the origin until the file is whole ---- */

/* Where opens wait for big files: waits until this one is whole, and so an entry. */
bool stk_big_await(struct stk_cache *cache, int fd);

/* Between the two parts of this (cache/big_fill.c): fills blocks from this one on, as many as are
 * absent of the wanted ones and what may be read ahead; how many were, 0: none. Makes the entry of
 * the file if that was all. */
unsigned stk_big_fill(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                      uint64_t wanted);
/* Tells those who finish such files (cache/begun.h) what was done with this one. */
void stk_big_mark(struct stk_cache *cache, struct stk_big *big, uint32_t marks);
/* Makes the entry, if all blocks are there and nobody else does. */
void stk_big_complete(struct stk_cache *cache, struct stk_big *big);

#endif
