/*
 * What is known to have changed, and when: one table in shared memory, from a hash to the time of
 * the last change, and of the last opening for writing. It is asked by everything that leads to a
 * file: the key of its path, its inode (hard links and linked directories are other names of it),
 * and one hash that stands for everything, for changes of directories and links. Which files such a
 * change concerns depends on a process's roots and view, so it counts for the whole catalogue.
 *
 * A change means that the origin is asked again. What was opened for writing is not cached again in
 * that run, since a descriptor that is open for writing cannot be watched.
 *
 * The table is lossy in the safe direction: two hashes that it cannot tell apart have changed when
 * one has. 128 KiB of it lie in the catalogue's header. What overflows goes on to a table of 1 MiB,
 * made when it is needed; there what has merely changed gives way, oldest first, and what was
 * written goes on to one of 16 MiB, for a million files. Without room for them more counts as
 * changed or written than was.
 *
 * A bit for each hash, 32 KiB of them, says whether there is anything to look for.
 *
 * Times are CLOCK_BOOTTIME, rounded up to the next 16 us. Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_CHANGES_H
#define STK_CACHE_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue.h"

enum stk_changes_kind { STK_CHANGED, STK_WRITTEN };

struct stk_changes {
    int64_t changed_ns; /* 0: never */
    int64_t written_ns; /* 0: never. To open for writing is a change as well. */
};

/* The hash of a change of a directory or link. It counts for every file of the catalogue. */
#define STK_CHANGES_EVERYTHING UINT64_C(0x8f3c51b7a96e2d04)

/* What a file's inode is noted by. */
uint64_t stk_changes_inode(uint64_t dev, uint64_t ino);

/* A note that can be taken back, when the call it was made for fails. */
struct stk_mark {
    uint64_t hash;
    uint64_t before, now; /* what stood there, and what does */
};

/* Notes a change, now. `mark` may be NULL. */
void stk_changes_note(struct stk_catalogue *catalogue, uint64_t hash, enum stk_changes_kind kind,
                      struct stk_mark *mark);
/* Takes a note back, if it still is the last one. */
void stk_changes_take_back(struct stk_catalogue *catalogue, const struct stk_mark *mark);

/* When it last changed. */
struct stk_changes stk_changes_last(struct stk_catalogue *catalogue, uint64_t hash);
/* Both together: the later of each. */
struct stk_changes stk_changes_later(struct stk_changes a, struct stk_changes b);
/* Whether nothing at all was opened for writing, or has changed since then: two loads, which spare
 * the look at the table in most jobs. */
static inline bool stk_changes_none_since(const struct stk_catalogue *catalogue, int64_t ns)
{
    const struct stk_catalogue_header *header = catalogue->header;
    return atomic_load_explicit(&header->last_changed_ns, memory_order_acquire) < ns &&
           atomic_load_explicit(&header->last_written_ns, memory_order_acquire) == 0;
}

#endif
