/*
 * Coverage: does this (dirfd, path) name a file below a covered root? Lexical; relative paths and
 * directory descriptors are resolved through the kernel's own view of them, never a remembered one
 * (a vfork child shares our memory and may change directory).
 */
#ifndef STK_PRELOAD_COVER_H
#define STK_PRELOAD_COVER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cache/cache.h"

/*
 * Whether it may be covered: false is certain. No system call and little stack, for the many calls
 * that have nothing to do with us; a relative path may always be.
 */
bool stk_cover_may(const char *path);

/* The same for a call that only looks, by a path relative to dirfd. */
bool stk_cover_may_at(int dirfd, const char *path);

/* The same for a call that changes something: ".." may lead below a root from anywhere. */
bool stk_cover_may_change(const char *path);

/* Whether it is; sets up the cache if need be. Inside the guard. */
struct stk_cache *stk_cover(int dirfd, const char *path, struct stk_place *place);

/* The same of a directory, which may be a root itself (stk_cache_place_directory). */
struct stk_cache *stk_cover_directory(int dirfd, const char *path, struct stk_place *place);

/*
 * The same for a call that changes something: there ".." is not left to the origin but resolved, as
 * the change must be known under the file's plain name. A few more system calls, then. Where these
 * fail for want of something (descriptors, memory), nobody knows what is changed: then the cache is
 * returned, if it is set up, and place->root is NULL.
 */
struct stk_cache *stk_cover_change(int dirfd, const char *path, struct stk_place *place);

/* Whether an open file lies below a root, or may, whatever name it was reached by. Only if the
 * cache is set up. Inside the guard. */
bool stk_cover_has_fd(struct stk_cache *cache, int fd, const struct stat *stat);

/*
 * The cache, for a change by a name that is not covered: a covered name may lead to the same file
 * all the same. NULL while nothing covered was touched in this process, unless a root is on this
 * device. Inside the guard.
 */
struct stk_cache *stk_cover_elsewhere(dev_t dev);

/* Whether this directory or link is really below a root or above one, or may be. `flags` may be
 * AT_SYMLINK_NOFOLLOW. Inside the guard. */
bool stk_cover_leads_near(const struct stk_cache *cache, int dirfd, const char *path, int flags);

/* Whether a look that failed with this error says that a change would fail, too, and so nothing
 * need be known of it. Other errors are our own trouble. */
bool stk_cover_no_change(int error);

/* The path of the directory that relative paths begin in, as the kernel knows it: the working
 * directory for AT_FDCWD. False when it has none. */
bool stk_cover_directory_path(int dirfd, char out[STK_PATH_BYTES]);

/* The path of an open descriptor as the kernel knows it; false when it has none. */
bool stk_cover_fd_path(int fd, char out[STK_PATH_BYTES]);

#endif
