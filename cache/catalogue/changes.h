/*
 * Known changes: one table in shared memory, from a hash to the times of the last change and of the
 * last opening for writing. Every look-up asks it by all that leads to a file: the key of the path,
 * the inode (hard links and linked directories are other names of it), and one hash that stands for
 * everything. Changes of directories and links are noted under that hash: which files such a change
 * concerns depends on a process's roots and view, so it counts for the whole catalogue.
 *
 * After a change processes ask the origin again. A file that was opened for writing is not cached
 * again in that run, since a descriptor that is open for writing cannot be watched.
 *
 * The table loses details in the safe direction only. If two hashes share a place, a change of one
 * counts for both. The catalogue's header has 128 KiB of the table. The overflow goes to a table of
 * 1 MiB, made on demand, in which the oldest mere changes give way. Files that were written go on
 * from there to a table of 16 MiB, for a million files. If there is no memory for these tables,
 * more files count as changed or written than were.
 *
 * A bit for each hash, 32 KiB of them, says whether the table has to be searched at all.
 *
 * Times are CLOCK_BOOTTIME, rounded up to the next 16 us. Lock-free, no heap; safe in threads,
 * after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/catalogue.h"

enum stk_changes_kind { STK_CHANGED, STK_WRITTEN };

struct stk_changes {
    int64_t changed_ns; /* 0: never */
    int64_t written_ns; /* 0: never. Opening for writing is a change as well. */
};

/* The hash of a change of a directory or link. It counts for every file of the catalogue. */
#define STK_CHANGES_EVERYTHING UINT64_C(0x8f3c51b7a96e2d04)

/* Returns the hash under which an inode's changes are noted. */
uint64_t stk_changes_inode(uint64_t dev, uint64_t ino);

/* A note that can be taken back if the call that it was made for fails. */
struct stk_mark {
    uint64_t hash;
    uint64_t before, now; /* the word of the table before and after the note */
};

/* Notes a change that happens now. `mark` may be NULL. */
void stk_changes_note(struct stk_catalogue *catalogue, uint64_t hash, enum stk_changes_kind kind,
                      struct stk_mark *mark);
/* Takes a note back, if it is still the last one. */
void stk_changes_take_back(struct stk_catalogue *catalogue, const struct stk_mark *mark);

/* Returns when this hash last changed. */
struct stk_changes stk_changes_last(struct stk_catalogue *catalogue, uint64_t hash);
/* Returns the later time of each kind. */
struct stk_changes stk_changes_later(struct stk_changes a, struct stk_changes b);
/* Returns true if no file was opened for writing, and nothing has changed since that time. These
 * two loads spare most jobs the search of the table. */
static inline bool stk_changes_none_since(const struct stk_catalogue *catalogue, int64_t ns)
{
    const struct stk_catalogue_header *header = catalogue->header;
    return atomic_load_explicit(&header->last_changed_ns, memory_order_acquire) < ns &&
           atomic_load_explicit(&header->last_written_ns, memory_order_acquire) == 0;
}
