/* Calls that change names and contents: truncate, rename, unlink, link. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "preload/change.h"
#include "preload/entryfd.h"
#include "preload/export.h"
#include "preload/next.h"

/* ---- truncate ---- */

static int serve_truncate(enum stk_symbol symbol, const char *path, off_t bytes)
{
    struct stk_write write;
    int (*next)(const char *, off_t) = (int (*)(const char *, off_t))stk_next(symbol);
    stk_write_before(&write, AT_FDCWD, path);
    int result = next != NULL ? next(path, bytes) : stk_next_missing();
    if (result == 0) {
        stk_write_done(&write, -1, AT_FDCWD, path);
    } else {
        stk_write_failed(&write);
    }
    return result;
}

/* By a name that may be that of a descriptor we gave out. */
static __attribute__((noinline)) int truncate_fd(enum stk_symbol symbol, const char *path,
                                                 off_t bytes)
{
    struct stk_entry_origin origin;
    const char *subject = stk_entryfd_subject(AT_FDCWD, path, 0, &origin);
    int result = serve_truncate(symbol, subject, bytes);
    stk_entryfd_release(&origin, result == 0 ? STK_ORIGIN_WRITTEN : STK_ORIGIN_ASKED);
    return result;
}

#define TRUNCATE_SYMBOL(name)                                                                      \
    STK_EXPORT(int, name, const char *path, off_t bytes)                                           \
    {                                                                                              \
        return stk_entryfd_may_be_meant(path, 0) ? truncate_fd(STK_SYM_##name, path, bytes)        \
                                                 : serve_truncate(STK_SYM_##name, path, bytes);    \
    }

TRUNCATE_SYMBOL(truncate)
TRUNCATE_SYMBOL(truncate64)

/* ---- one name ---- */

static int after_name(int result, int dirfd, const char *path, const struct stk_noted *before)
{
    if (result == 0) {
        stk_change_again(before);
        stk_change(STK_CHANGE_NAME, dirfd, path);
    }
    return result;
}

#define NAME_SYMBOL(name)                                                                          \
    STK_EXPORT(int, name, const char *path)                                                        \
    {                                                                                              \
        int (*next)(const char *) = (int (*)(const char *))stk_next(STK_SYM_##name);               \
        struct stk_noted before = stk_change(STK_CHANGE_NAME, AT_FDCWD, path);                     \
        int result = next != NULL ? next(path) : stk_next_missing();                               \
        return after_name(result, AT_FDCWD, path, &before);                                        \
    }

NAME_SYMBOL(unlink)
NAME_SYMBOL(remove)
NAME_SYMBOL(rmdir)

STK_EXPORT(int, unlinkat, int dirfd, const char *path, int flags)
{
    int (*next)(int, const char *, int) =
        (int (*)(int, const char *, int))stk_next(STK_SYM_unlinkat);
    struct stk_noted before = stk_change(STK_CHANGE_NAME, dirfd, path);
    int result = next != NULL ? next(dirfd, path, flags) : stk_next_missing();
    return after_name(result, dirfd, path, &before);
}

/* ---- two names ---- */

/* One call, whichever symbol it came by. */
struct call {
    enum stk_symbol symbol;
    enum { TWO_PATHS, TWO_DIRS, TWO_DIRS_FLAGS } shape;
    int from_dir;
    const char *from;
    int to_dir;
    const char *to;
    unsigned flags;
};

static int next_two(const struct call *c)
{
    void *next = stk_next(c->symbol);
    if (next == NULL) {
        return stk_next_missing();
    }
    switch (c->shape) {
    case TWO_PATHS:
        return ((int (*)(const char *, const char *))next)(c->from, c->to);
    case TWO_DIRS:
        return ((int (*)(int, const char *, int, const char *))next)(c->from_dir, c->from,
                                                                     c->to_dir, c->to);
    default:
        return ((int (*)(int, const char *, int, const char *, unsigned))next)(
            c->from_dir, c->from, c->to_dir, c->to, c->flags);
    }
}

static int serve_two(const struct call *call)
{
    struct stk_noted from = stk_change(STK_CHANGE_NAME, call->from_dir, call->from);
    struct stk_noted to = stk_change(STK_CHANGE_NAME, call->to_dir, call->to);
    int result = next_two(call);
    after_name(result, call->from_dir, call->from, &from);
    return after_name(result, call->to_dir, call->to, &to);
}

#define TWO_PATHS_SYMBOL(name)                                                                     \
    STK_EXPORT(int, name, const char *from, const char *to)                                        \
    {                                                                                              \
        struct call call = {STK_SYM_##name, TWO_PATHS, AT_FDCWD, from, AT_FDCWD, to, 0};           \
        return serve_two(&call);                                                                   \
    }

TWO_PATHS_SYMBOL(rename)
TWO_PATHS_SYMBOL(link)

STK_EXPORT(int, renameat, int from_dir, const char *from, int to_dir, const char *to)
{
    struct call call = {STK_SYM_renameat, TWO_DIRS, from_dir, from, to_dir, to, 0};
    return serve_two(&call);
}

STK_EXPORT(int, renameat2, int from_dir, const char *from, int to_dir, const char *to,
           unsigned flags)
{
    struct call call = {STK_SYM_renameat2, TWO_DIRS_FLAGS, from_dir, from, to_dir, to, flags};
    return serve_two(&call);
}

/* From a name that may be that of a descriptor we gave out: an entry gets no second name. */
static __attribute__((noinline)) int link_fd(struct call *call)
{
    struct stk_entry_origin origin;
    int flags = (int)call->flags & AT_EMPTY_PATH;
    flags |= (call->flags & AT_SYMLINK_FOLLOW) != 0 ? 0 : AT_SYMLINK_NOFOLLOW;
    const char *subject = stk_entryfd_subject(call->from_dir, call->from, flags, &origin);
    if (origin.fd >= 0 && stk_path_is_empty(call->from)) {
        call->from_dir = origin.fd; /* who may do this by a descriptor is the kernel's to say */
    } else {
        call->from = subject;
    }
    int result = serve_two(call);
    stk_entryfd_release(&origin, result == 0 ? STK_ORIGIN_CHANGED : STK_ORIGIN_ASKED);
    return result;
}

STK_EXPORT(int, linkat, int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    struct call call = {STK_SYM_linkat, TWO_DIRS_FLAGS, from_dir, from, to_dir, to,
                        (unsigned)flags};
    return stk_entryfd_may_be_meant(from, flags) ? link_fd(&call) : serve_two(&call);
}
