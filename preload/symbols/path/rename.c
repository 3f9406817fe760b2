/* Notes the calls that change names and contents by path: truncate, rename, unlink, link. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "preload/change/change.h"
#include "preload/coverage/entry_origin.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

/* ---- truncate ---- */

static int truncate_by_syscall(const char *path, off_t bytes)
{
    const struct stk_syscall call = {SYS_truncate, {(long)path, bytes}};
    return (int)stk_syscall_next(&call);
}

static int next_truncate(enum stk_symbol symbol, const char *path, off_t bytes)
{
    if (symbol == STK_SYM_syscall) {
        return truncate_by_syscall(path, bytes);
    }
    int (*next)(const char *, off_t) = (int (*)(const char *, off_t))stk_next(symbol);
    return next != NULL ? next(path, bytes) : stk_next_missing();
}

static int serve_truncate(enum stk_symbol symbol, const char *path, off_t bytes)
{
    struct stk_write write;
    stk_write_before(&write, AT_FDCWD, path);
    int result = next_truncate(symbol, path, bytes);
    stk_write_after(&write, result == 0, -1, AT_FDCWD, path);
    return result;
}

/* Truncates by a name that may be that of a descriptor which the library gave out. */
static __attribute__((noinline)) int truncate_fd(enum stk_symbol symbol, const char *path,
                                                 off_t bytes)
{
    struct stk_entry_origin origin;
    const char *subject = stk_entry_origin_subject(AT_FDCWD, path, 0, &origin);
    int result = serve_truncate(symbol, subject, bytes);
    stk_entry_origin_release(&origin,
                             result == 0 ? STK_ENTRY_ORIGIN_WRITTEN : STK_ENTRY_ORIGIN_ASKED);
    return result;
}

static int truncate_perhaps(enum stk_symbol symbol, const char *path, off_t bytes)
{
    return stk_entry_origin_may_be_meant(path, 0) ? truncate_fd(symbol, path, bytes)
                                                  : serve_truncate(symbol, path, bytes);
}

#define TRUNCATE_SYMBOL(name)                                                                      \
    STK_EXPORT(int, name, (const char *path, off_t bytes))                                         \
    {                                                                                              \
        return truncate_perhaps(STK_SYM_##name, path, bytes);                                      \
    }

TRUNCATE_SYMBOL(truncate)
TRUNCATE_SYMBOL(truncate64)

long stk_syscall_truncate(const struct stk_syscall *by)
{
    return truncate_perhaps(STK_SYM_syscall, stk_syscall_pointer(by, 0), by->at[1]);
}

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
    STK_SYMBOL(int, name, (const char *path), (path))                                              \
    {                                                                                              \
        struct stk_noted before = stk_change(STK_CHANGE_NAME, AT_FDCWD, path);                     \
        return after_name(name##_next(path), AT_FDCWD, path, &before);                             \
    }

NAME_SYMBOL(unlink)
NAME_SYMBOL(remove)
NAME_SYMBOL(rmdir)

STK_SYMBOL(int, unlinkat, (int dirfd, const char *path, int flags), (dirfd, path, flags))
{
    struct stk_noted before = stk_change(STK_CHANGE_NAME, dirfd, path);
    return after_name(unlinkat_next(dirfd, path, flags), dirfd, path, &before);
}

static long unlink_by_syscall(const struct stk_syscall *by, int dirfd, const char *path)
{
    struct stk_noted before = stk_change(STK_CHANGE_NAME, dirfd, path);
    return after_name((int)stk_syscall_next(by), dirfd, path, &before);
}

long stk_syscall_unlink(const struct stk_syscall *by)
{
    return unlink_by_syscall(by, AT_FDCWD, stk_syscall_pointer(by, 0));
}

long stk_syscall_unlinkat(const struct stk_syscall *by)
{
    return unlink_by_syscall(by, stk_syscall_int(by, 0), stk_syscall_pointer(by, 1));
}

/* ---- two names ---- */

/* One call, whichever symbol it came by. */
struct two_names_call {
    enum stk_symbol symbol;
    enum { TWO_PATHS, TWO_DIRS, TWO_DIRS_FLAGS, SYSCALL } shape;
    int from_dir;
    const char *from;
    int to_dir;
    const char *to;
    unsigned flags;
    const struct stk_syscall *by; /* the program's call, for SYSCALL */
};

/* Makes the program's call. Only linkat's first name may differ from the program's. */
static int two_by_syscall(const struct two_names_call *c)
{
    struct stk_syscall real = *c->by;
    if (real.number == SYS_linkat) {
        real.at[0] = c->from_dir;
        real.at[1] = (long)c->from;
    }
    return (int)stk_syscall_next(&real);
}

static int next_two(const struct two_names_call *c)
{
    if (c->shape == SYSCALL) {
        return two_by_syscall(c);
    }
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

static int serve_two(const struct two_names_call *call)
{
    struct stk_noted from = stk_change(STK_CHANGE_NAME, call->from_dir, call->from);
    struct stk_noted to = stk_change(STK_CHANGE_NAME, call->to_dir, call->to);
    int result = next_two(call);
    after_name(result, call->from_dir, call->from, &from);
    return after_name(result, call->to_dir, call->to, &to);
}

/* Links from a name that may be that of a descriptor which the library gave out: an entry gets no
 * second name. */
static __attribute__((noinline)) int link_fd(struct two_names_call *call)
{
    struct stk_entry_origin origin;
    int flags = (int)call->flags & AT_EMPTY_PATH;
    flags |= (call->flags & AT_SYMLINK_FOLLOW) != 0 ? 0 : AT_SYMLINK_NOFOLLOW;
    const char *subject = stk_entry_origin_subject(call->from_dir, call->from, flags, &origin);
    if (origin.fd >= 0 && stk_path_is_empty(call->from)) {
        call->from_dir =
            origin.fd; /* the kernel decides which processes may link by a descriptor */
    } else {
        call->from = subject;
    }
    int result = serve_two(call);
    stk_entry_origin_release(&origin,
                             result == 0 ? STK_ENTRY_ORIGIN_CHANGED : STK_ENTRY_ORIGIN_ASKED);
    return result;
}

static int serve_link(struct two_names_call *call)
{
    return stk_entry_origin_may_be_meant(call->from, (int)call->flags) ? link_fd(call)
                                                                       : serve_two(call);
}

/* Defines a symbol that SERVE serves. PARAMETERS is a bracketed list. */
#define TWO_NAMES_SYMBOL(name, SERVE, SHAPE, FROM_DIR, TO_DIR, FLAGS, PARAMETERS)                  \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        return SERVE(&(struct two_names_call){STK_SYM_##name, SHAPE, FROM_DIR, from, TO_DIR, to,   \
                                              (unsigned)(FLAGS), NULL});                           \
    }

TWO_NAMES_SYMBOL(rename, serve_two, TWO_PATHS, AT_FDCWD, AT_FDCWD, 0,
                 (const char *from, const char *to))
TWO_NAMES_SYMBOL(link, serve_two, TWO_PATHS, AT_FDCWD, AT_FDCWD, 0,
                 (const char *from, const char *to))
TWO_NAMES_SYMBOL(renameat, serve_two, TWO_DIRS, from_dir, to_dir, 0,
                 (int from_dir, const char *from, int to_dir, const char *to))
TWO_NAMES_SYMBOL(renameat2, serve_two, TWO_DIRS_FLAGS, from_dir, to_dir, flags,
                 (int from_dir, const char *from, int to_dir, const char *to, unsigned flags))
TWO_NAMES_SYMBOL(linkat, serve_link, TWO_DIRS_FLAGS, from_dir, to_dir, flags,
                 (int from_dir, const char *from, int to_dir, const char *to, int flags))

/* ---- two names, by syscall() ---- */

long stk_syscall_rename(const struct stk_syscall *by)
{
    return serve_two(&(struct two_names_call){.shape = SYSCALL,
                                              .from_dir = AT_FDCWD,
                                              .from = stk_syscall_pointer(by, 0),
                                              .to_dir = AT_FDCWD,
                                              .to = stk_syscall_pointer(by, 1),
                                              .by = by});
}

static struct two_names_call call_at(const struct stk_syscall *by, unsigned flags)
{
    return (struct two_names_call){.shape = SYSCALL,
                                   .from_dir = stk_syscall_int(by, 0),
                                   .from = stk_syscall_pointer(by, 1),
                                   .to_dir = stk_syscall_int(by, 2),
                                   .to = stk_syscall_pointer(by, 3),
                                   .flags = flags,
                                   .by = by};
}

long stk_syscall_renameat(const struct stk_syscall *by)
{
    const struct two_names_call call = call_at(by, 0);
    return serve_two(&call);
}

long stk_syscall_linkat(const struct stk_syscall *by)
{
    struct two_names_call call = call_at(by, (unsigned)stk_syscall_int(by, 4));
    return serve_link(&call);
}
