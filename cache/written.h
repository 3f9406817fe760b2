/*
 * Files opened for writing: by the record of their path (record->written_s), and by inode, since
 * hard links and linked directories lead to one file by other names. A descriptor that is open for
 * writing cannot be watched, so such files are not cached again in the run.
 *
 * The table of inodes is 64 KiB in the catalogue's header; where a bucket of it overflows, a second
 * table of 1 MiB is made, and where that overflows a third of 16 MiB, for a million inodes. Without
 * room for them more inodes count as written than were: wrong only in the safe direction.
 * Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_WRITTEN_H
#define STK_CACHE_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue.h"

/* A time as the marks keep it: seconds since boot, from 1. */
uint32_t stk_written_seconds(int64_t boottime_ns);

/* Marks an inode as opened for writing now. */
void stk_written_mark_inode(struct stk_catalogue *catalogue, uint64_t dev, uint64_t ino);
/* Whether it was opened for writing in a run that began at `since_ns`. */
bool stk_written_has_inode(struct stk_catalogue *catalogue, uint64_t dev, uint64_t ino,
                           int64_t since_ns);
/* Whether the record's path was. */
bool stk_written_has_record(const struct stk_record *record, int64_t since_ns);

#endif
