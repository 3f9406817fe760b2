/*
 * Lexical path handling. Nothing here asks the kernel; what a path means is decided elsewhere.
 * All functions are safe in threads, after fork and in signal handlers.
 */
#ifndef STK_BASE_PATH_H
#define STK_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STK_PATH_BYTES 4096 /* with the terminating zero, as the kernel's PATH_MAX */

/* NULL, or so near to it, or to the end of memory, that it is no path: the real call says EFAULT.
 * Other pointers that lead nowhere cannot be told without going there. */
static inline bool stk_path_is_missing(const char *path)
{
    return (uintptr_t)path - 4096 >= (uintptr_t)-8192;
}

/* What means the descriptor itself to calls with AT_EMPTY_PATH. */
static inline bool stk_path_is_empty(const char *path)
{
    return path == NULL || (!stk_path_is_missing(path) && *path == '\0');
}

/*
 * If `path` (absolute) lies below `root` (absolute, folded, no trailing slash) or is `root` itself,
 * returns what is left of `path` behind the root, without leading slashes; else NULL.
 * "//" and "/./" in `path` count as "/". Allocates nothing and uses a few words of stack, since
 * it runs for every path that a program names.
 */
const char *stk_path_below(const char *path, const char *root);

/*
 * Copies `path` with "//" and "/./" folded and no leading slash into `out`; returns its length.
 * Returns -1 for what only the origin can answer: a ".." component, a trailing "/" or "/.",
 * nothing left, or not enough room. `path` may lie in `out`, where it is folded in place.
 */
long stk_path_fold(const char *path, char *out, size_t bytes);

/* The last component of `path`: behind the last slash. */
const char *stk_path_leaf(const char *path);

/* Whether a leaf is called as SQLite's databases are, which have locks and journals beside them. */
bool stk_path_is_database(const char *leaf);

/* Returns true if `path` is named as LMDB's lock files are: DIRECTORY/lock.mdb, or NAME-lock. */
bool stk_path_is_lmdb_lock(const char *path);

/* Writes the path of the database of such a lock file: DIRECTORY/data.mdb, or NAME. Returns false
 * if `path` is no such name, or `out` has not enough room. */
bool stk_path_lmdb_data(const char *path, char *out, size_t bytes);

#endif
