/*
 * Notes in the cache the calls by which a program changes its files. Each change is noted before
 * the call, since a process may be killed right after it. It is noted again when the call has
 * succeeded.
 *
 * A name that is not covered may mean a covered file all the same: by a hard link, or by links into
 * a root or out of one. So these functions look at every file that is changed, if the process has
 * used the cache or the file is on a root's device. All keep errno.
 */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"

/* One write to a file's content: an open for writing, creat or truncate. The struct is small, since
 * it lives across the call. */
struct stk_write {
    struct stk_cache *cache; /* NULL: nothing can be concerned */
    bool placed;             /* by a covered name */
    bool known;              /* an entry of the file may be open here, by an exec or a socket */
    bool first;              /* of the file in this run */
    struct stk_mark mark;
};
void stk_write_before(struct stk_write *write, int dirfd, const char *path);
/* `done`: the call has succeeded. `fd` is what an open returned. For calls that return no
 * descriptor, `fd` is -1 and `path` names the file. */
void stk_write_after(const struct stk_write *write, bool done, int fd, int dirfd, const char *path);

enum stk_change {
    STK_CHANGE_NAME,   /* made, removed, renamed */
    STK_CHANGE_ACCESS, /* mode, owner, attributes: of a directory, they may close all below it */
    STK_CHANGE_TIMES
};
/* The file, directory or link that had the name before the call, as stk_change noted it. */
struct stk_noted {
    struct stk_cache *cache; /* NULL: nothing */
    bool all, is_file;
    uint64_t dev, ino;
};
/* Notes a change of a name or of metadata at this path. Call it before the call, and again after
 * success. For a change of metadata, an empty or missing path means dirfd itself. */
struct stk_noted stk_change(enum stk_change kind, int dirfd, const char *path);
/* Notes again the file that had the name before the call, and has it no more. A process may have
 * looked at that file by another name between the note and the call. */
void stk_change_again(const struct stk_noted *noted);
/* Notes that a name is made at this path, which changes the listing of its directory and nothing
 * else. Call it before and after the call. stk_change includes this for the names that it gets. */
void stk_change_listing(int dirfd, const char *path);
/* Notes a change of metadata through a descriptor of the origin. Call it after success. */
void stk_change_fd(enum stk_change kind, int fd);
