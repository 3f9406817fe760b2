/*
 * Opens the origin that an entry's descriptor stands for, so that a call which the cache cannot
 * answer is made on the origin.
 */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"

/* The origin that an entry stands for, open with O_PATH. `name` is its name below /proc/self/fd: a
 * call on `name` reaches that file, whatever the origin's path leads to meanwhile. If the origin
 * cannot be opened (its path leads to another file, or nowhere), `name` leads nowhere. Then the
 * call fails with ENOENT, as on a file that is gone. Only the kernel would still know the file that
 * was opened. */
struct stk_entry_origin {
    int fd; /* -1: none */
    char name[32];
};

/* The use that the program made of the origin. */
enum stk_entry_origin_use {
    STK_ENTRY_ORIGIN_ASKED,
    STK_ENTRY_ORIGIN_CHANGED,
    STK_ENTRY_ORIGIN_WRITTEN
};

/* Opens the origin of the entry open as `fd`. Returns false if `fd` is no entry. Release `origin`
 * afterwards. Inside the guard. */
bool stk_entry_origin_open(int fd, struct stk_entry_origin *origin);

/* Closes the origin, and notes in the cache what was done to it. Keeps errno. Does nothing if none
 * is open. */
void stk_entry_origin_release(const struct stk_entry_origin *origin, enum stk_entry_origin_use end);

/* Returns the flags with which the origin is opened in the place of the entry open as `fd`. */
int stk_entry_origin_flags(int fd);

/* Opens for reading, with these flags, the origin of the entry open as `fd`, if its path still
 * leads to the version that the entry has. Returns a descriptor, which the caller closes, or
 * -errno; -ENOENT for another version. Call it outside the guard, which it takes. */
int stk_entry_origin_open_to_read(int fd);

/* Returns true if this path may be a link that the kernel has for a descriptor: it ends in a
 * number. It also is relative, or below /proc or /dev. Cheap; false is certain. */
bool stk_entry_origin_may_be_link(const char *path);

/* Returns true if the path is such a link, and leads to a file that is named as an entry is.
 * Follows no link. */
bool stk_entry_origin_is_link(int dirfd, const char *path);

/* Opens with O_PATH the origin of the entry that such a link leads to. If the origin cannot be
 * opened, origin->fd is -1. Then `name` gets what the link would say: the path that the origin had,
 * with the kernel's mark of an unlinked file if it is gone. Returns false if the link leads to no
 * entry, or the path is not known. The caller closes origin->fd. Inside the guard. */
bool stk_entry_origin_open_by_link(int dirfd, const char *path, struct stk_entry_origin *origin,
                                   char name[STK_PATH_BYTES]);

/* Returns true if this path may be another name for a descriptor. Cheap; false is certain. */
bool stk_entry_origin_may_name_fd(const char *path);

/* Returns true if stk_entry_origin_subject may return something other than `path`. Cheap; false is
 * certain. */
bool stk_entry_origin_may_be_meant(const char *path, int flags);

/* Returns the path on which a call that changes a file is to be made. That is `path` itself, unless
 * `path` is another name for an entry's descriptor: /proc/self/fd/N, /dev/stdin, or "" or NULL with
 * AT_EMPTY_PATH in `flags`. Then it is the name of the entry's origin, which is a link that the
 * call has to follow. An entry must never be changed, and to root its mode is no obstacle. Release
 * `origin` in either case. */
const char *stk_entry_origin_subject(int dirfd, const char *path, int flags,
                                     struct stk_entry_origin *origin);
