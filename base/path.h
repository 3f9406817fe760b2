/*
 * Lexical path handling. Nothing here asks the kernel; what a path means is decided elsewhere.
 * All functions are safe in threads, after fork and in signal handlers.
 */
#ifndef STK_BASE_PATH_H
#define STK_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define STK_PATH_BYTES 4096 /* with the terminating zero, as the kernel's PATH_MAX */

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

#endif
