/*
 * Finds which of a program's descriptors are entries, and which origin each stands for. The stat
 * result of an entry is recognised by its looks (regular, mode 0400, this user's) before its device
 * is compared. So the fstat of any other file costs nothing more. Then a small table of this
 * process is asked, by inode number; if that has nothing, the entry's name, by /proc/self/fd.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "cache/cache.h"

/* Remembers that the entry to be opened next belongs to this record. Lock-free. */
void stk_entryfd_note(struct stk_cache *cache, uint32_t record);

/* Returns true if this process, or one it was forked from, may have opened an entry of the origin
 * with this inode number. The version and the name do not matter. */
bool stk_entryfd_has_noted(uint64_t ino);

/* Returns true if `fd` may be an entry's, with fstat's answer in `out`. Asks no server; false is
 * certain. */
bool stk_entryfd_looks_so(int fd, struct stat *out);

/* Returns true if the descriptor certainly is no entry's, by its file and its name. Returns false
 * if that cannot be looked at. */
bool stk_entryfd_is_none(int fd);

/* Returns true if a stat result may be that of an entry. Cheap; false is certain. */
bool stk_entryfd_may_be(const struct stat *stat);

/* Finds the identity of the origin if `stat` is that of an entry open as `fd`. Asks the origin when
 * the catalogue is not sure. Inside the guard. */
bool stk_entryfd_identify(int fd, const struct stat *stat, struct stk_identity *out);

/* Returns the record of the version that the entry open as `fd` is a copy of. Returns 0 if `fd` is
 * no entry, or the catalogue does not know it. Inside the guard. */
uint32_t stk_entryfd_record(struct stk_cache *cache, int fd);
/* Writes the path of the file open as `fd`, or the path that it had, if it was unlinked. */
bool stk_entryfd_name(int fd, char entry[STK_PATH_BYTES]);

/* Finds the identity of the origin by an entry's path, as far as the catalogue knows it. The path
 * may end in the kernel's mark of an unlinked file. */
bool stk_entryfd_identify_name(struct stk_cache *cache, const char *entry,
                               struct stk_identity *out);

/* Finds the identity of the origin by a path that leads to an entry (/dev/stdin,
 * /proc/self/fd/N). */
bool stk_entryfd_identify_path(int dirfd, const char *path, const struct stat *stat,
                               struct stk_identity *out);

/* ---- for entry_origin.c ---- */

#define STK_DELETED_MARK " (deleted)" /* how the kernel marks the path of an unlinked file */

/* Returns the length of the kernel's mark of an unlinked file at the end of an open file's path. */
size_t stk_entryfd_mark_bytes(const char *path);

/* Returns the cache if the file is on one of its tiers. If another user's file only looks like an
 * entry, the cache is not set up for it. */
struct stk_cache *stk_entryfd_cache_with_device(const struct stat *stat);

/* Compares the file at the path of an entry's origin with the version that the entry is a copy of.
 * Only the same file says anything about the descriptor. */
enum stk_likeness stk_entryfd_compare(struct stk_cache *cache, int dirfd, const char *path,
                                      int flags, const char *entry, struct stk_identity *out);
