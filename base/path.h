/*
 * Compares, folds and splits paths by their letters. Nothing here asks the kernel; other folders
 * decide what a path means. All functions are safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STK_PATH_BYTES 4096 /* with the terminating zero, as the kernel's PATH_MAX */

/* Returns true if the pointer is NULL, or so near to it or to the end of memory that it is no path.
 * The real call reports EFAULT then. Other pointers that lead nowhere are only found by reading
 * there. */
static inline bool stk_path_is_missing(const char *path)
{
    return (uintptr_t)path - 4096 >= (uintptr_t)-8192;
}

/* Returns true if the path means the descriptor itself to calls with AT_EMPTY_PATH. */
static inline bool stk_path_is_empty(const char *path)
{
    return path == NULL || (!stk_path_is_missing(path) && *path == '\0');
}

/* Returns the rest of `path` (absolute) behind `root` (absolute, folded, no trailing slash),
 * without leading slashes, if `path` is `root` or lies below it; else NULL. "//" and "/./" in
 * `path` count as "/". Allocates nothing and uses a few words of stack, since it runs for every
 * path that a program names. */
const char *stk_path_below(const char *path, const char *root);

/* Returns true if `path` is `above` or lies below it. Both are canonical; `above` may be "/". */
bool stk_path_is_below(const char *path, const char *above);

/* Copies `path` into `out`, with "//" and "/./" folded and no leading slash; returns its length.
 * Returns -1 for a path that only the origin can resolve: a ".." component, a trailing "/" or "/.",
 * nothing left, or not enough room. `path` may lie in `out`, where it is folded in place. */
long stk_path_fold(const char *path, char *out, size_t bytes);

/* Returns true for "." and "..". */
bool stk_path_is_dots(const char *name);

/* Returns the last component of `path`: behind the last slash. */
const char *stk_path_leaf(const char *path);

/* Returns true if `path` ends with `end` and has something before it. */
bool stk_path_has_end(const char *path, const char *end);

/* Returns true if a leaf is named as SQLite's databases are, which have locks and journals beside
 * them. */
bool stk_path_is_database(const char *leaf);

/* Returns true if `path` is named as LMDB's lock files are: DIRECTORY/lock.mdb, or NAME-lock. */
bool stk_path_is_lmdb_lock(const char *path);

/* Writes the path of the database of such a lock file: DIRECTORY/data.mdb, or NAME. Returns false
 * if `path` is no such name, or `out` has not enough room. */
bool stk_path_lmdb_data(const char *path, char *out, size_t bytes);
