/*
 * Walks a directory tree by raw system calls, without following links. Each directory below the top
 * is visited after its contents, so that a visitor can remove what it is shown. Keeps one fd and
 * maps 16 KiB for each level while it walks; no heap. Safe in threads and after fork.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Visits one thing found: `name` in the open directory `dirfd`. `stat` is of the thing itself.
 * Return 0 to go on; any other value ends the walk with that value. */
typedef int stk_walk_visitor(void *context, int dirfd, const char *name, const struct stat *stat);

/* Walks the tree. Returns 0, -errno (of the top directory only: anything that vanishes on the way
 * is passed over), or the visitor's value. */
int stk_walk(const char *top, stk_walk_visitor *visit, void *context);

/* Walks for a visitor that removes: does not go into what is mounted below the top, which is no
 * part of the tree. The directory that it is mounted on is visited. */
int stk_walk_within(const char *top, stk_walk_visitor *visit, void *context);

/* Takes a directory that a walk met and opened, to walk it elsewhere: the descriptor is then the
 * taker's, and the directory is not visited. Returns false if it does not. */
typedef bool stk_walk_taker(void *context, int dirfd, unsigned depth);

/* A walk of which parts may be done elsewhere. */
struct stk_walk {
    stk_walk_visitor *visit;
    stk_walk_taker *take; /* or NULL */
    void *context;
    bool within; /* and not into what is mounted there */
};

/* Walks the directory that is open as `dirfd`; what is in it has this depth, which is 1 right below
 * the top. The caller closes the descriptor. Returns 0 or the visitor's value. */
int stk_walk_open(const struct stk_walk *walk, int dirfd, unsigned depth);

/* Removes everything below `top` and `top` itself, but nothing that is mounted there; things may
 * vanish meanwhile. Returns 0 or -errno. */
int stk_walk_remove(const char *top);
