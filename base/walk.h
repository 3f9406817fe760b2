/*
 * Walks a directory tree by raw system calls, without following links. Each directory below the top
 * is visited after its contents, so that a visitor can remove what it is shown. Keeps one fd and
 * maps 16 KiB for each level while it walks; no heap. Safe in threads and after fork.
 */
#pragma once

#include <sys/stat.h>

/* Visits one thing found: `name` in the open directory `dirfd`, `depth` 1 right below the top.
 * `stat` is of the thing itself. Return 0 to go on; any other value ends the walk with that
 * value. */
typedef int stk_walk_visitor(void *context, int dirfd, const char *name, unsigned depth,
                             const struct stat *stat);

/* Walks the tree. Returns 0, -errno (of the top directory only: anything that vanishes on the way
 * is passed over), or the visitor's value. */
int stk_walk(const char *top, stk_walk_visitor *visit, void *context);

/* Walks for a visitor that removes: does not go into what is mounted below the top, which is no
 * part of the tree. The directory that it is mounted on is visited. */
int stk_walk_within(const char *top, stk_walk_visitor *visit, void *context);

/* Removes everything below `top` and `top` itself, but nothing that is mounted there; things may
 * vanish meanwhile. Returns 0 or -errno. */
int stk_walk_remove(const char *top);
