/*
 * Answers the stat family, always with the origin's identity. A known path is answered from the
 * catalogue. If libc answers about an entry (through a descriptor, /dev/stdin, /proc/self/fd/N),
 * its answer is translated.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

#if defined(__x86_64__)
#define KNOWN_VERSION(version) ((version) == 0 || (version) == 1)
#else
#define KNOWN_VERSION(version) ((version) == 0)
#endif

/* One call, whichever symbol it came by. If `path` is NULL, it asks about the descriptor `fd`. */
struct stat_call {
    enum stk_symbol symbol;
    enum { STAT, FSTAT, FSTATAT, XSTAT, FXSTAT, FXSTATAT, STATX, SYSCALL } shape;
    int version;
    int fd; /* or the directory's */
    const char *path;
    int flags; /* AT_ */
    struct stat *out;
    struct statx *out_x;          /* where statx answers; else NULL */
    unsigned mask;                /* of statx */
    const struct stk_syscall *by; /* of a SYSCALL */
};

/* Rust's weak reference to statx finds our symbol, and expects it to work where libc has none. */
static int raw_stat(const struct stat_call *c)
{
    int error = c->out_x != NULL  ? stk_sys_statx(c->fd, c->path, c->flags, c->mask, c->out_x)
                : c->path == NULL ? stk_sys_fstat(c->fd, c->out)
                                  : stk_sys_fstatat(c->fd, c->path, c->out, c->flags);
    return (int)stk_next_result(error);
}

static int next_stat(const struct stat_call *c)
{
    void *next = stk_next(c->symbol);
    if (c->shape == SYSCALL) {
        return (int)stk_syscall_next(c->by);
    }
    if (next == NULL) {
        return raw_stat(c);
    }
    switch (c->shape) {
    case STAT:
        return ((int (*)(const char *, struct stat *))next)(c->path, c->out);
    case FSTAT:
        return ((int (*)(int, struct stat *))next)(c->fd, c->out);
    case FSTATAT:
        return ((int (*)(int, const char *, struct stat *, int))next)(c->fd, c->path, c->out,
                                                                      c->flags);
    case XSTAT:
        return ((int (*)(int, const char *, struct stat *))next)(c->version, c->path, c->out);
    case FXSTAT:
        return ((int (*)(int, int, struct stat *))next)(c->version, c->fd, c->out);
    case STATX:
        return ((int (*)(int, const char *, int, unsigned, struct statx *))next)(
            c->fd, c->path, c->flags, c->mask, c->out_x);
    default:
        return ((int (*)(int, int, const char *, struct stat *, int))next)(
            c->version, c->fd, c->path, c->out, c->flags);
    }
}

/* ---- what the catalogue knows, or the origin says ---- */

enum outcome { UNANSWERED, KNOWN, ASKED, REFUSED };

struct stat_answer {
    enum outcome how;
    struct stk_identity known;
    struct statx asked;
    int error; /* why it was refused: -errno */
};

/* Returns true for an error with which the program's own call would end as well. Another error may
 * be Stoker's own trouble: EACCES may be a sandbox's answer to our calls alone. */
static bool is_of_path(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENAMETOOLONG;
}

static enum outcome look(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                         struct stat_answer *out)
{
    if (stk_cache_stat(cache, place, nofollow, &out->known)) {
        return KNOWN;
    }
    out->error = stk_cache_stat_origin(cache, place, nofollow, &out->asked);
    if (out->error == 0) {
        return ASKED;
    }
    return is_of_path(out->error) ? REFUSED : UNANSWERED;
}

/* Finds the answer. The origin is asked once, in the way that is remembered, and not a second time
 * by the program's call. */
static void find_answer(const struct stat_call *call, struct stat_answer *out)
{
    struct stk_guard guard;
    struct stk_place place;
    out->how = UNANSWERED;
    if (!stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = stk_cover(call->fd, call->path, &place);
    if (cache != NULL) {
        out->how = look(cache, &place, (call->flags & AT_SYMLINK_NOFOLLOW) != 0, out);
    }
    stk_guard_leave(&guard);
}

/* ---- giving answers ---- */

static void give_identity(const struct stat_call *call, const struct stk_identity *identity)
{
    if (call->out_x != NULL) {
        stk_identity_to_statx(identity, call->out_x);
    } else {
        stk_identity_to_stat(identity, call->out);
    }
}

static struct timespec timespec_of(struct statx_timestamp time)
{
    return (struct timespec){.tv_sec = time.tv_sec, .tv_nsec = time.tv_nsec};
}

static void statx_to_stat(const struct statx *in, struct stat *out)
{
    memset(out, 0, sizeof *out);
    out->st_dev = makedev(in->stx_dev_major, in->stx_dev_minor);
    out->st_rdev = makedev(in->stx_rdev_major, in->stx_rdev_minor);
    out->st_ino = in->stx_ino;
    out->st_mode = in->stx_mode;
    out->st_nlink = in->stx_nlink;
    out->st_uid = in->stx_uid;
    out->st_gid = in->stx_gid;
    out->st_size = (off_t)in->stx_size;
    out->st_blksize = (blksize_t)in->stx_blksize;
    out->st_blocks = (blkcnt_t)in->stx_blocks;
    out->st_atim = timespec_of(in->stx_atime);
    out->st_mtim = timespec_of(in->stx_mtime);
    out->st_ctim = timespec_of(in->stx_ctime);
}

static void give_asked(const struct stat_call *call, const struct statx *asked)
{
    if (call->out_x != NULL) {
        *call->out_x = *asked;
    } else if (call->out != NULL) {
        statx_to_stat(asked, call->out);
    }
}

/* ---- what libc said of an entry ---- */

static bool asks_about_fd(const struct stat_call *call)
{
    return (call->flags & AT_EMPTY_PATH) != 0 && stk_path_is_empty(call->path);
}

/* Returns libc's answer, as far as the translation needs it. */
static const struct stat *looks_of(const struct stat_call *call, struct stat *made)
{
    struct stk_identity identity;
    if (call->out_x == NULL) {
        return call->out;
    }
    *made = (struct stat){.st_mode = 0};
    if (stk_process_is_on() && stk_identity_from_statx(&identity, call->out_x)) {
        stk_identity_to_stat(&identity, made);
    }
    return made;
}

static void translate(const struct stat_call *call, const struct stat *looks)
{
    struct stk_guard guard;
    struct stk_identity identity;
    stk_guard_join(&guard); /* an entry's stat is translated inside another guard, too */
    bool known = asks_about_fd(call)
                     ? stk_entryfd_identify(call->fd, looks, &identity)
                     : stk_entryfd_identify_path(call->fd, call->path, looks, &identity);
    stk_guard_leave(&guard);
    if (known) {
        give_identity(call, &identity);
    }
}

/* Apart, so that an answer from the catalogue does not need this much stack. */
static __attribute__((noinline)) int stat_unanswered(const struct stat_call *call)
{
    struct stat made;
    int result = next_stat(call);
    const struct stat *looks = result == 0 ? looks_of(call, &made) : NULL;
    if (looks != NULL && stk_entryfd_may_be(looks)) {
        translate(call, looks);
    }
    return result;
}

static __attribute__((noinline)) int stat_perhaps(const struct stat_call *call)
{
    struct stat_answer answer;
    find_answer(call, &answer);
    switch (answer.how) {
    case KNOWN:
        give_identity(call, &answer.known);
        return 0;
    case ASKED:
        give_asked(call, &answer.asked);
        return 0;
    case REFUSED:
        errno = -answer.error;
        return -1;
    default:
        return stat_unanswered(call); /* not covered, or relative, below /proc */
    }
}

/* Returns true if a record can answer the question. It asks for the basic fields and the birth
 * time, and has no wish about how the origin is to be asked. */
static bool is_answerable(const struct stat_call *call)
{
    const int known_flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
    return (call->flags & ~known_flags) == 0 &&
           (call->mask & ~(unsigned)(STATX_BASIC_STATS | STATX_BTIME)) == 0;
}

static int serve(const struct stat_call *call)
{
    if (!KNOWN_VERSION(call->version) || (call->out == NULL && call->out_x == NULL)) {
        return next_stat(call);
    }
    bool may =
        is_answerable(call) && !asks_about_fd(call) && stk_cover_may_at(call->fd, call->path);
    return may ? stat_perhaps(call) : stat_unanswered(call);
}

/* Defines a symbol of this shape. PARAMETERS is a bracketed list; behind it come the members of the
 * call that it sets. */
#define STAT_SYMBOL(name, SHAPE, PARAMETERS, ...)                                                  \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        return serve(&(struct stat_call){.symbol = STK_SYM_##name, .shape = SHAPE, __VA_ARGS__});  \
    }

/* Defines a symbol, and its twin for large files. */
#define STAT_SYMBOLS(name, ...)                                                                    \
    STAT_SYMBOL(name, __VA_ARGS__)                                                                 \
    STAT_SYMBOL(name##64, __VA_ARGS__)

STAT_SYMBOLS(stat, STAT, (const char *path, struct stat *out), .fd = AT_FDCWD, .path = path,
             .out = out)
STAT_SYMBOLS(lstat, STAT, (const char *path, struct stat *out), .fd = AT_FDCWD, .path = path,
             .flags = AT_SYMLINK_NOFOLLOW, .out = out)
STAT_SYMBOLS(fstat, FSTAT, (int fd, struct stat *out), .fd = fd, .flags = AT_EMPTY_PATH, .out = out)
STAT_SYMBOLS(fstatat, FSTATAT, (int dirfd, const char *path, struct stat *out, int flags),
             .fd = dirfd, .path = path, .flags = flags, .out = out)
STAT_SYMBOLS(__xstat, XSTAT, (int version, const char *path, struct stat *out), .version = version,
             .fd = AT_FDCWD, .path = path, .out = out)
STAT_SYMBOLS(__lxstat, XSTAT, (int version, const char *path, struct stat *out), .version = version,
             .fd = AT_FDCWD, .path = path, .flags = AT_SYMLINK_NOFOLLOW, .out = out)
STAT_SYMBOLS(__fxstat, FXSTAT, (int version, int fd, struct stat *out), .version = version,
             .fd = fd, .flags = AT_EMPTY_PATH, .out = out)
STAT_SYMBOLS(__fxstatat, FXSTATAT,
             (int version, int dirfd, const char *path, struct stat *out, int flags),
             .version = version, .fd = dirfd, .path = path, .flags = flags, .out = out)
STAT_SYMBOL(statx, STATX,
            (int dirfd, const char *path, int flags, unsigned mask, struct statx *out), .fd = dirfd,
            .path = path, .flags = flags, .mask = mask, .out_x = out)

/* ---- by syscall(), where struct stat is libc's ---- */

#define STAT_SYSCALL(name, ...)                                                                    \
    long stk_syscall_##name(const struct stk_syscall *by)                                          \
    {                                                                                              \
        return serve(&(struct stat_call){                                                          \
            .symbol = STK_SYM_syscall, .shape = SYSCALL, .by = by, __VA_ARGS__});                  \
    }

STAT_SYSCALL(stat, .fd = AT_FDCWD, .path = stk_syscall_pointer(by, 0),
             .out = stk_syscall_pointer(by, 1))
STAT_SYSCALL(lstat, .fd = AT_FDCWD, .path = stk_syscall_pointer(by, 0),
             .flags = AT_SYMLINK_NOFOLLOW, .out = stk_syscall_pointer(by, 1))
STAT_SYSCALL(fstat, .fd = stk_syscall_int(by, 0), .flags = AT_EMPTY_PATH,
             .out = stk_syscall_pointer(by, 1))
STAT_SYSCALL(fstatat, .fd = stk_syscall_int(by, 0), .path = stk_syscall_pointer(by, 1),
             .flags = stk_syscall_int(by, 3), .out = stk_syscall_pointer(by, 2))
STAT_SYSCALL(statx, .fd = stk_syscall_int(by, 0), .path = stk_syscall_pointer(by, 1),
             .flags = stk_syscall_int(by, 2), .mask = (unsigned)stk_syscall_int(by, 3),
             .out_x = stk_syscall_pointer(by, 4))
