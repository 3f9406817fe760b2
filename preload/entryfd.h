/*
 * Descriptors of entries: which of a program's descriptors are ours, and which origin they stand
 * for. A stat result of a tier's file is recognised by its looks (regular, 0400, ours) before its
 * device is compared, so that everybody else's fstat costs nothing more. Then a small table of
 * this process, by inode number; else the entry's name, through /proc/self/fd.
 */
#ifndef STK_PRELOAD_ENTRYFD_H
#define STK_PRELOAD_ENTRYFD_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cache/cache.h"

/* Remembers that the entry just opened belongs to this record. Lock-free. */
void stk_entryfd_note(struct stk_cache *cache, uint32_t record);

/* Whether a stat result may be that of an entry. Cheap; false is certain. */
bool stk_entryfd_may_be(const struct stat *stat);

/*
 * If `stat` is that of an entry open as `fd`, finds the identity of its origin, asking the origin
 * when the catalogue is not sure. Inside the guard.
 */
bool stk_entryfd_identify(int fd, const struct stat *stat, struct stk_identity *out);

/* The same for a path that leads to an entry (/dev/stdin, /proc/self/fd/N). */
bool stk_entryfd_identify_path(int dirfd, const char *path, const struct stat *stat,
                               struct stk_identity *out);

/* The path of the origin that the entry open as `fd` stands for; of nothing, where that cannot be
 * told. Inside the guard. */
bool stk_entryfd_origin(int fd, char origin[STK_PATH_BYTES]);

/*
 * Opens that origin for reading, if its path still leads to the version that the entry has; -errno
 * or -ENOENT. The caller closes it. Inside the guard.
 */
int stk_entryfd_open_origin(int fd);

/* Whether this path may be another name for a descriptor. Cheap; false is certain. */
bool stk_entryfd_may_name_fd(const char *path);

/* Whether the next function may say something else than `path`. Cheap; false is certain. */
bool stk_entryfd_may_be_meant(const char *path, int flags);

/*
 * What a call that changes a file is to be made on: `path` itself, or, where that is another name
 * for an entry's descriptor (/proc/self/fd/N, /dev/stdin, or "" or NULL with AT_EMPTY_PATH in
 * `flags`), its origin, written to `origin`. An entry must never be changed; to root its mode is no
 * obstacle.
 */
const char *stk_entryfd_subject(int dirfd, const char *path, int flags,
                                char origin[STK_PATH_BYTES]);

#endif
