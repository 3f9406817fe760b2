/*
 * The checksum of an entry shows that an entry found on a disk is whole. After a power cut a disk
 * may have an entry's name and length, and not its bytes.
 *
 * The nanoseconds of an entry's mtime name the boot in which its bytes were last known to be right.
 * In that boot the kernel answers for them, written back or not. In a later boot a process has to
 * read them and compare the checksum, which an attribute holds. On a file system without
 * attributes, entries are served until the next boot only. No function here asks a clock, waits for
 * a disk, or needs to know that a run has ended.
 *
 * Entries in memory need no checksum: none survives a power cut. No heap; safe in threads, after
 * fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/hash.h"

#define STK_CHECKSUM_UNIT_BYTES 4096

/* Returns what a piece adds to a file's checksum, which is the sum of all pieces in any order. A
 * piece begins at a multiple of STK_CHECKSUM_UNIT_BYTES, and ends at one or with the file. */
uint64_t stk_checksum_of(const void *piece, size_t bytes, uint64_t offset);

/* Gives a draft its checksum, and marks it as of this boot. Returns 0, or -errno if the draft is no
 * longer as it was. A file system that cannot keep the checksum is no error. */
int stk_checksum_store(const char *draft, uint64_t check);
/* Returns true if an entry with this stat is marked as of this boot. */
bool stk_checksum_is_of_this_boot(const struct stat *entry);
/* Reads the checksum that the entry was given. Returns false if there is none. */
bool stk_checksum_get(const char *entry, uint64_t *check);
/* Marks an entry that was read and found right as of this boot. */
void stk_checksum_renew(const char *entry, const struct stat *stat);
