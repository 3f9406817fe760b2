/* Serves open, openat, creat, and their fortified and 64-bit names. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/path.h"
#include "base/sys.h"
#include "preload/change/change.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entry_origin.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"
#include "preload/serve/open.h"

/* One call, whichever symbol it came by. */
struct open_call {
    enum stk_symbol symbol;
    enum { OPEN, OPENAT, OPEN_2, OPENAT_2, CREAT, SYSCALL } shape;
    int dirfd;
    const char *path;
    int flags;
    mode_t mode;
    const struct stk_syscall *by; /* the program's call, for SYSCALL; the path is at `path_at` */
    unsigned path_at;
};

static int open_by_syscall(const struct open_call *call)
{
    struct stk_syscall real = *call->by;
    real.at[call->path_at] = (long)call->path;
    return (int)stk_syscall_next(&real);
}

/* Calls the next definition of the very symbol that the program called. */
static int next_open(const struct open_call *call)
{
    void *next = stk_next(call->symbol);
    if (call->shape == SYSCALL) {
        return open_by_syscall(call);
    }
    if (next == NULL) {
        return (int)stk_next_result(
            stk_sys_openat(call->dirfd, call->path, call->flags, call->mode));
    }
    switch (call->shape) {
    case OPEN:
        return ((int (*)(const char *, int, ...))next)(call->path, call->flags, call->mode);
    case OPENAT:
        return ((int (*)(int, const char *, int, ...))next)(call->dirfd, call->path, call->flags,
                                                            call->mode);
    case OPEN_2:
        return ((int (*)(const char *, int))next)(call->path, call->flags);
    case OPENAT_2:
        return ((int (*)(int, const char *, int))next)(call->dirfd, call->path, call->flags);
    default:
        return ((int (*)(const char *, mode_t))next)(call->path, call->mode);
    }
}

static int write_file(const struct open_call *call)
{
    struct stk_write write;
    bool makes = (call->flags & O_CREAT) != 0;
    if (makes) {
        stk_change_listing(call->dirfd, call->path);
    }
    stk_write_before(&write, call->dirfd, call->path);
    int fd = next_open(call);
    stk_write_after(&write, fd >= 0, fd, call->dirfd, call->path);
    if (makes && fd >= 0) {
        stk_change_listing(call->dirfd, call->path);
    }
    return fd;
}

/* Finds the database of an LMDB lock file. Returns false if there is none. */
static bool find_lmdb_data(const struct open_call *call, char data[STK_PATH_BYTES],
                           struct stat *stat)
{
    return stk_path_lmdb_data(call->path, data, STK_PATH_BYTES) &&
           stk_sys_fstatat(call->dirfd, data, stat, 0) == 0 && S_ISREG(stat->st_mode);
}

/* Counts a database that is not cached from now on. LMDB has opened it before the lock file, so
 * that open was counted without this reason. */
static void count_lmdb(const struct stk_write *write, const struct stat *stat)
{
    if (write->first && write->known) {
        stk_run_count_bypass(&write->cache->run, STK_BYPASS_WRITTEN, (uint64_t)stat->st_size);
    }
}

/* Opens an LMDB lock file. A reader of LMDB writes to that file, and learns from it which version
 * of the database is the last. So the database must be of the same moment as the lock file. It
 * counts as written, and the origin serves it, whether LMDB opens it before or after. If the lock
 * file cannot be opened, LMDB goes on without it, and the database's mark is taken back. Apart,
 * since it needs much stack. */
static __attribute__((noinline)) int open_lmdb_lock(const struct open_call *call)
{
    char data[STK_PATH_BYTES];
    struct stat stat;
    struct stk_write write;
    if (!find_lmdb_data(call, data, &stat)) {
        return write_file(call);
    }
    stk_write_before(&write, call->dirfd, data);
    int fd = write_file(call);
    stk_write_after(&write, fd >= 0, -1, call->dirfd, data);
    if (fd >= 0) {
        count_lmdb(&write, &stat);
    }
    return fd;
}

static int open_for_writing(const struct open_call *call)
{
    bool lock = !stk_path_is_missing(call->path) && stk_path_is_lmdb_lock(call->path) &&
                stk_process_is_on();
    return lock ? open_lmdb_lock(call) : write_file(call);
}

/* Opens for writing by a name that may be that of a descriptor which the library gave out. */
static __attribute__((noinline)) int open_fd_for_writing(const struct open_call *call)
{
    struct stk_entry_origin origin;
    struct open_call real = *call;
    int follow = (call->flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
    real.path = stk_entry_origin_subject(call->dirfd, call->path, follow, &origin);
    int fd = open_for_writing(&real);
    stk_entry_origin_release(&origin, fd >= 0 ? STK_ENTRY_ORIGIN_WRITTEN : STK_ENTRY_ORIGIN_ASKED);
    return fd;
}

/* Opens for reading, where nothing is written, but a name may be made. */
static int open_to_make(const struct open_call *call)
{
    stk_change(STK_CHANGE_NAME, call->dirfd, call->path);
    int fd = next_open(call);
    if (fd >= 0) {
        stk_change(STK_CHANGE_NAME, call->dirfd, call->path);
    }
    return fd;
}

/* Returns the entry's descriptor, or -1 if the origin has to be opened. Inside the guard. */
static int open_entry(const struct open_call *call, struct stk_serve *serve)
{
    int fd = stk_sys_open_own(serve->ask.entry, call->flags);
    if (fd < 0) {
        stk_serve_hit_failed(serve, -fd);
        return -1;
    }
    stk_serve_hit(serve);
    return fd;
}

/* Inside the guard, which it leaves. Apart, so that only a covered call needs this much stack. */
static __attribute__((noinline)) int open_covered(const struct open_call *call,
                                                  struct stk_cache *cache,
                                                  const struct stk_place *place,
                                                  const struct stk_guard *guard)
{
    struct stk_serve serve;
    bool nofollow = (call->flags & O_NOFOLLOW) != 0;
    int fd = -1;
    if (stk_serve_begin(&serve, cache, place, nofollow) == STK_ANSWER_HIT) {
        fd = open_entry(call, &serve);
    }
    stk_guard_leave(guard);
    if (fd < 0) {
        fd = next_open(call);
        if (fd >= 0) {
            stk_serve_end(&serve, fd, call->flags);
        }
    }
    return fd;
}

/* Apart, so that a call on a path that is not covered does not need this much stack. */
static __attribute__((noinline)) int open_perhaps(const struct open_call *call)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return next_open(call);
    }
    struct stk_cache *cache = stk_cover(call->dirfd, call->path, &place);
    if (cache != NULL) {
        return open_covered(call, cache, &place, &guard);
    }
    stk_guard_leave(&guard);
    return next_open(call);
}

/* Opens by a name that is not covered, which may lead to a covered file all the same. */
static int open_uncovered(const struct open_call *call)
{
    switch (stk_open_kind_of(call->flags)) {
    case STK_OPEN_WRITE:
        return stk_entry_origin_may_name_fd(call->path) ? open_fd_for_writing(call)
                                                        : open_for_writing(call);
    case STK_OPEN_MAKE:
        return open_to_make(call);
    default:
        return next_open(call);
    }
}

static int serve(const struct open_call *call)
{
    if (!stk_cover_may(call->path)) {
        return stk_process_is_on() ? open_uncovered(call) : next_open(call);
    }
    switch (stk_open_kind_of(call->flags)) {
    case STK_OPEN_READ:
        return open_perhaps(call);
    case STK_OPEN_WRITE:
        return open_for_writing(call);
    case STK_OPEN_MAKE:
        return open_to_make(call);
    default:
        return next_open(call);
    }
}

/* Returns the mode, which is only there if the flags say so. */
static mode_t take_mode(int flags, va_list *arguments)
{
    bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return given ? va_arg(*arguments, mode_t) : 0;
}

/* Define a symbol of this shape. PARAMETERS is a bracketed list. The first takes a mode behind it.
 */
#define OPEN_SYMBOL(name, SHAPE, DIRFD, PARAMETERS)                                                \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = take_mode(flags, &arguments);                                                \
        va_end(arguments);                                                                         \
        return serve(                                                                              \
            &(struct open_call){STK_SYM_##name, SHAPE, DIRFD, path, flags, mode, NULL, 0});        \
    }
#define PLAIN_SYMBOL(name, SHAPE, DIRFD, FLAGS, MODE, PARAMETERS)                                  \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        return serve(                                                                              \
            &(struct open_call){STK_SYM_##name, SHAPE, DIRFD, path, FLAGS, MODE, NULL, 0});        \
    }
#define CREATING (O_CREAT | O_WRONLY | O_TRUNC)

OPEN_SYMBOL(open, OPEN, AT_FDCWD, (const char *path, int flags, ...))
OPEN_SYMBOL(open64, OPEN, AT_FDCWD, (const char *path, int flags, ...))
OPEN_SYMBOL(openat, OPENAT, dirfd, (int dirfd, const char *path, int flags, ...))
OPEN_SYMBOL(openat64, OPENAT, dirfd, (int dirfd, const char *path, int flags, ...))
PLAIN_SYMBOL(__open_2, OPEN_2, AT_FDCWD, flags, 0, (const char *path, int flags))
PLAIN_SYMBOL(__open64_2, OPEN_2, AT_FDCWD, flags, 0, (const char *path, int flags))
PLAIN_SYMBOL(__openat_2, OPENAT_2, dirfd, flags, 0, (int dirfd, const char *path, int flags))
PLAIN_SYMBOL(__openat64_2, OPENAT_2, dirfd, flags, 0, (int dirfd, const char *path, int flags))
PLAIN_SYMBOL(creat, CREAT, AT_FDCWD, CREATING, mode, (const char *path, mode_t mode))
PLAIN_SYMBOL(creat64, CREAT, AT_FDCWD, CREATING, mode, (const char *path, mode_t mode))

/* ---- by syscall() ---- */

static long serve_syscall(const struct stk_syscall *by, int dirfd, unsigned path_at, int flags)
{
    const char *path = stk_syscall_pointer(by, path_at);
    const struct open_call call = {STK_SYM_syscall, SYSCALL, dirfd, path, flags, 0, by, path_at};
    return serve(&call);
}

long stk_syscall_open(const struct stk_syscall *by)
{
    return serve_syscall(by, AT_FDCWD, 0, stk_syscall_int(by, 1));
}

long stk_syscall_creat(const struct stk_syscall *by)
{
    return serve_syscall(by, AT_FDCWD, 0, CREATING);
}

long stk_syscall_openat(const struct stk_syscall *by)
{
    return serve_syscall(by, stk_syscall_int(by, 0), 1, stk_syscall_int(by, 2));
}

/* The kernel's struct open_how. */
struct how {
    uint64_t flags, mode, resolve;
};

/* Returns true if this openat2 is a plain open for reading. All others are left to the kernel: it
 * refuses more than open does, and openat2 has other ways to find a file. */
static bool is_plain(const struct how *how, size_t bytes)
{
    const uint64_t usual = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_LARGEFILE;
    return bytes == sizeof *how && how->mode == 0 && how->resolve == 0 &&
           (how->flags & ~usual) == O_RDONLY;
}

long stk_syscall_openat2(const struct stk_syscall *by)
{
    const struct how *how = stk_syscall_pointer(by, 2);
    size_t bytes = (size_t)by->at[3];
    if (stk_path_is_missing((const char *)how) || bytes < sizeof *how) {
        return stk_syscall_next(by);
    }
    int flags = (int)how->flags;
    return stk_open_kind_of(flags) != STK_OPEN_READ || is_plain(how, bytes)
               ? serve_syscall(by, stk_syscall_int(by, 0), 1, flags)
               : stk_syscall_next(by);
}
