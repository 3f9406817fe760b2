/*
 * Decides whether a (dirfd, path) names a file below a covered root. The decision is lexical.
 * Relative paths and directory descriptors are resolved by the kernel's own view of them, never a
 * remembered one. A vfork child shares the memory, and may change its directory.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "cache/cache.h"

/* Returns true if the path may be covered; false is certain. No system call and little stack, for
 * the many calls that have nothing to do with Stoker. A relative path may always be covered. */
bool stk_cover_may(const char *path);

/* Returns true if the path, relative to dirfd, may be covered, for a call that changes nothing. */
bool stk_cover_may_at(int dirfd, const char *path);

/* Returns true if the path may be covered, for a call that changes something: ".." may lead below a
 * root from anywhere. */
bool stk_cover_may_change(const char *path);

/* Returns the cache if the path is covered, with its place; else NULL. Sets up the cache if need
 * be. Inside the guard. */
struct stk_cache *stk_cover(int dirfd, const char *path, struct stk_place *place);

/* Returns the cache if the path is a covered directory, which may be a root itself
 * (stk_cache_place_directory); else NULL. Inside the guard. */
struct stk_cache *stk_cover_directory(int dirfd, const char *path, struct stk_place *place);

/* Returns the cache if the path is covered, for a call that changes something; else NULL. Here ".."
 * is not left to the origin but resolved, as the change must be noted under the file's plain name.
 * That takes a few more system calls. If these fail for want of descriptors or memory, it is
 * unknown what is changed. Then the cache is returned, if it is set up, and place->root is NULL. */
struct stk_cache *stk_cover_change(int dirfd, const char *path, struct stk_place *place);

/* Returns true if an open file lies below a root, or may lie there, whatever name it was reached
 * by. The cache must be set up. Inside the guard. */
bool stk_cover_has_fd(struct stk_cache *cache, int fd, const struct stat *stat);

/* Returns the cache, for a change by a name that is not covered: a covered name may lead to the
 * same file. Returns NULL while this process has touched nothing covered, unless a root is on this
 * device. Inside the guard. */
struct stk_cache *stk_cover_cache_for_device(dev_t dev);

/* Returns true if the real path of this directory or link is below a root or above one, or may be.
 * `flags` may be AT_SYMLINK_NOFOLLOW. Inside the guard. */
bool stk_cover_leads_near(const struct stk_cache *cache, int dirfd, const char *path, int flags);

/* Returns true if a look that failed with this error proves that the program's change would fail,
 * too. Then there is nothing to note. Other errors are Stoker's own trouble, such as too few
 * descriptors. */
bool stk_cover_is_no_change(int error);

/* Writes the path of the directory that relative paths begin in, as the kernel knows it: the
 * working directory for AT_FDCWD. Returns false if it has none. */
bool stk_cover_directory_path(int dirfd, char out[STK_PATH_BYTES]);

/* Writes the path of an open descriptor as the kernel knows it. Returns false if it has none. */
bool stk_cover_fd_path(int fd, char out[STK_PATH_BYTES]);
