/*
 * What the cache must know of the calls by which a program changes its files. Each is told before
 * the call, since a process may be killed right after it, and again when it has succeeded.
 * A name that is not covered may mean a covered file all the same: by a hard link, or by links that
 * lead below a root or out of one. So these calls look at every file that is changed, as long as
 * the process has used the cache or the file is on a root's device. All keep errno.
 */
#ifndef STK_PRELOAD_CHANGE_H
#define STK_PRELOAD_CHANGE_H

#include <stdbool.h>

#include "cache/cache.h"

/* A write to the content: open for writing, creat, truncate. Small, since it lives across the call.
 */
struct stk_write {
    struct stk_cache *cache; /* NULL: nothing can be concerned */
    bool placed;             /* by a covered name */
    bool known;              /* and an entry of it may be open here, by an exec or a socket */
    struct stk_mark mark;
};
void stk_write_before(struct stk_write *write, int dirfd, const char *path);
/* `fd`: what an open returned; or -1 and `path` for calls that return none. */
void stk_write_done(const struct stk_write *write, int fd, int dirfd, const char *path);
void stk_write_failed(const struct stk_write *write);

enum stk_change {
    STK_CHANGE_NAME,   /* made, removed, renamed */
    STK_CHANGE_ACCESS, /* mode, owner, attributes: of a directory, they may close all below it */
    STK_CHANGE_TIMES
};
/* What was noted of the file, directory or link that had the name before. */
struct stk_noted {
    struct stk_cache *cache; /* NULL: nothing */
    bool all, is_file;
    uint64_t dev, ino;
};
/* A change of a name or of metadata at this path. Call it before, and after success. An empty path,
 * or none, means dirfd itself, where metadata is changed. */
struct stk_noted stk_change(enum stk_change kind, int dirfd, const char *path);
/* The same once more of what had the name before, and has it no more: somebody may have looked at
 * it by another name between the note and the call. */
void stk_change_again(const struct stk_noted *noted);
/* A name is made at this path: what its directory holds changes, and nothing else. Before and after
 * the call. (stk_change does the same for the names that it is told of.) */
void stk_change_listing(int dirfd, const char *path);
/* A change of metadata through a descriptor of the origin. After success. */
void stk_change_fd(enum stk_change kind, int fd);

#endif
