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

/* Remembers that the entry that is about to be opened belongs to this record. Lock-free. */
void stk_entryfd_note(struct stk_cache *cache, uint32_t record);

/* Whether this process, or one it was forked from, may have opened an entry of the origin with this
 * inode number, whatever version and by whatever name. */
bool stk_entryfd_has_noted(uint64_t ino);

/* Returns true if `fd` may be an entry's, with fstat's answer in `out`. Asks no server; false is
 * certain. */
bool stk_entryfd_looks_so(int fd, struct stat *out);

/* Whether a stat result may be that of an entry. Cheap; false is certain. */
bool stk_entryfd_may_be(const struct stat *stat);

/*
 * If `stat` is that of an entry open as `fd`, finds the identity of its origin, asking the origin
 * when the catalogue is not sure. Inside the guard.
 */
bool stk_entryfd_identify(int fd, const struct stat *stat, struct stk_identity *out);

/* The record of the version that the entry open as `fd` is a copy of; 0: it is no entry, or none
 * that the catalogue knows. Inside the guard. */
uint32_t stk_entryfd_record(struct stk_cache *cache, int fd);
/* The path of the file open as `fd`, or the one that it had, if it was unlinked. */
bool stk_entryfd_name(int fd, char entry[STK_PATH_BYTES]);

/* The same by an entry's path, as far as the catalogue knows it; it may end in the kernel's mark of
 * an unlinked file. */
bool stk_entryfd_identify_name(struct stk_cache *cache, const char *entry,
                               struct stk_identity *out);

/* The same for a path that leads to an entry (/dev/stdin, /proc/self/fd/N). */
bool stk_entryfd_identify_path(int dirfd, const char *path, const struct stat *stat,
                               struct stk_identity *out);

/*
 * The origin that an entry stands for, open by O_PATH: what is done by `name`, which is one of
 * /proc/self/fd, is done to that file, whatever its path leads to meanwhile. Where it cannot be had
 * (its path leads to another file, or nowhere), the name leads nowhere: the call fails as one on a
 * file that is gone, by ENOENT. The kernel would still know the file that was opened; nobody else
 * does.
 */
struct stk_entry_origin {
    int fd; /* -1: none */
    char name[32];
};

/* What was done to it. */
enum stk_origin_end { STK_ORIGIN_ASKED, STK_ORIGIN_CHANGED, STK_ORIGIN_WRITTEN };

/* The origin of the entry open as `fd`; false: it is no entry's. To be released. Inside the guard.
 */
bool stk_entryfd_origin(int fd, struct stk_entry_origin *origin);

/* Closes it, and has the cache know of what was done. Keeps errno. Nothing to do without one. */
void stk_entryfd_release(const struct stk_entry_origin *origin, enum stk_origin_end end);

/*
 * Opens that origin for reading, if its path still leads to the version that the entry has; -errno
 * or -ENOENT. The caller closes it. Outside the guard, which it takes.
 */
int stk_entryfd_open_origin(int fd);

/* True if this path may be that of a link that the kernel has for a descriptor: it ends in a
 * number, and is relative, or below /proc or /dev. Cheap; false is certain. */
bool stk_entryfd_may_be_link(const char *path);

/* True if it is one, and leads to what is called as an entry is. No link is followed. */
bool stk_entryfd_is_link(int dirfd, const char *path);

/*
 * Opens the origin of the entry that such a link leads to, by O_PATH. Where that cannot be had,
 * origin->fd is -1, and `name` gets what the link would say: the path that the origin had, with the
 * kernel's mark of an unlinked file if it is gone. False: the link leads to no entry, or the path
 * is not known. The caller closes origin->fd. Inside the guard.
 */
bool stk_entryfd_origin_of_link(int dirfd, const char *path, struct stk_entry_origin *origin,
                                char name[STK_PATH_BYTES]);

/* Whether this path may be another name for a descriptor. Cheap; false is certain. */
bool stk_entryfd_may_name_fd(const char *path);

/* Whether the next function may say something else than `path`. Cheap; false is certain. */
bool stk_entryfd_may_be_meant(const char *path, int flags);

/*
 * What a call that changes a file is to be made on: `path` itself, or, where that is another name
 * for an entry's descriptor (/proc/self/fd/N, /dev/stdin, or "" or NULL with AT_EMPTY_PATH in
 * `flags`), the name of its origin, as above; links have to be followed then. An entry must never
 * be changed; to root its mode is no obstacle. `origin` is to be released in either case.
 */
const char *stk_entryfd_subject(int dirfd, const char *path, int flags,
                                struct stk_entry_origin *origin);

#endif
