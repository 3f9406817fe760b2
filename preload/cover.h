/*
 * Coverage: does this (dirfd, path) name a file below a covered root? Lexical; relative paths and
 * directory descriptors are resolved through the kernel's own view of them, never a remembered one
 * (a vfork child shares our memory and may change directory).
 */
#ifndef STK_PRELOAD_COVER_H
#define STK_PRELOAD_COVER_H

#include <stdbool.h>

#include "cache/cache.h"

/*
 * Whether it may be covered: false is certain. No system call and little stack, for the many calls
 * that have nothing to do with us; a relative path may always be.
 */
bool stk_cover_may(const char *path);

/* Whether it is; sets up the cache if need be. Inside the guard. */
struct stk_cache *stk_cover(int dirfd, const char *path, struct stk_place *place);

/* The path of an open descriptor as the kernel knows it; false when it has none. */
bool stk_cover_fd_path(int fd, char out[STK_PATH_BYTES]);

#endif
