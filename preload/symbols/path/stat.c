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
    enum { STAT, FSTAT, FSTATAT, XSTAT, FXSTAT, FXSTATAT, SYSCALL } shape;
    int version;
    int fd; /* or the directory's */
    const char *path;
    int flags; /* AT_ */
    struct stat *out;
    const struct stk_syscall *by; /* of a SYSCALL */
};

static int raw_stat(const struct stat_call *call)
{
    int error = call->path == NULL ? stk_sys_fstat(call->fd, call->out)
                                   : stk_sys_fstatat(call->fd, call->path, call->out, call->flags);
    if (error != 0) {
        errno = -error;
        return -1;
    }
    return 0;
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
    default:
        return ((int (*)(int, int, const char *, struct stat *, int))next)(
            c->version, c->fd, c->path, c->out, c->flags);
    }
}

/* ---- what the catalogue knows, or the origin says ---- */

enum how { UNANSWERED, KNOWN, ASKED, REFUSED };

struct answer {
    enum how how;
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

static enum how look(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                     struct answer *out)
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
static void find_answer(int dirfd, const char *path, bool nofollow, struct answer *out)
{
    struct stk_guard guard;
    struct stk_place place;
    out->how = UNANSWERED;
    if (!stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = stk_cover(dirfd, path, &place);
    if (cache != NULL) {
        out->how = look(cache, &place, nofollow, out);
    }
    stk_guard_leave(&guard);
}

/* ---- what libc said of an entry ---- */

static bool translate_fd(int fd, const struct stat *stat, struct stk_identity *out)
{
    struct stk_guard guard;
    if (!stk_entryfd_may_be(stat)) {
        return false;
    }
    stk_guard_join(&guard); /* an entry's stat is translated inside another guard, too */
    bool known = stk_entryfd_identify(fd, stat, out);
    stk_guard_leave(&guard);
    return known;
}

static bool translate_path(int dirfd, const char *path, const struct stat *stat,
                           struct stk_identity *out)
{
    struct stk_guard guard;
    if (!stk_entryfd_may_be(stat)) {
        return false;
    }
    stk_guard_join(&guard); /* an entry's stat is translated inside another guard, too */
    bool known = stk_entryfd_identify_path(dirfd, path, stat, out);
    stk_guard_leave(&guard);
    return known;
}

/* ---- struct stat ---- */

static int serve_fd(const struct stat_call *call, int fd)
{
    struct stk_identity identity;
    int result = next_stat(call);
    if (result == 0 && translate_fd(fd, call->out, &identity)) {
        stk_identity_to_stat(&identity, call->out);
    }
    return result;
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

static int stat_unanswered(const struct stat_call *call)
{
    struct stk_identity identity;
    int result = next_stat(call);
    if (result == 0 && translate_path(call->fd, call->path, call->out, &identity)) {
        stk_identity_to_stat(&identity, call->out);
    }
    return result;
}

static __attribute__((noinline)) int stat_perhaps(const struct stat_call *call)
{
    struct answer answer;
    find_answer(call->fd, call->path, (call->flags & AT_SYMLINK_NOFOLLOW) != 0, &answer);
    switch (answer.how) {
    case KNOWN:
        stk_identity_to_stat(&answer.known, call->out);
        return 0;
    case ASKED:
        statx_to_stat(&answer.asked, call->out);
        return 0;
    case REFUSED:
        errno = -answer.error;
        return -1;
    default:
        return stat_unanswered(call); /* not covered, or relative, below /proc */
    }
}

static int serve(const struct stat_call *call)
{
    const int known_flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
    if (!KNOWN_VERSION(call->version) || (call->flags & ~known_flags) != 0 || call->out == NULL) {
        return next_stat(call);
    }
    bool of_fd = (call->flags & AT_EMPTY_PATH) != 0 && stk_path_is_empty(call->path);
    if (of_fd) {
        return serve_fd(call, call->fd);
    }
    if (stk_cover_may_at(call->fd, call->path)) {
        return stat_perhaps(call);
    }
    return stat_unanswered(call);
}

#define STAT_SYMBOL(name, flags)                                                                   \
    STK_EXPORT(int, name, (const char *path, struct stat *out))                                    \
    {                                                                                              \
        struct stat_call call = {STK_SYM_##name, STAT, 0, AT_FDCWD, path, flags, out, NULL};       \
        return serve(&call);                                                                       \
    }

#define FSTAT_SYMBOL(name)                                                                         \
    STK_EXPORT(int, name, (int fd, struct stat *out))                                              \
    {                                                                                              \
        struct stat_call call = {STK_SYM_##name, FSTAT, 0, fd, NULL, 0, out, NULL};                \
        return serve_fd(&call, fd);                                                                \
    }

#define FSTATAT_SYMBOL(name)                                                                       \
    STK_EXPORT(int, name, (int dirfd, const char *path, struct stat *out, int flags))              \
    {                                                                                              \
        struct stat_call call = {STK_SYM_##name, FSTATAT, 0, dirfd, path, flags, out, NULL};       \
        return serve(&call);                                                                       \
    }

#define XSTAT_SYMBOL(name, flags)                                                                  \
    STK_EXPORT(int, name, (int version, const char *path, struct stat *out))                       \
    {                                                                                              \
        struct stat_call call = {                                                                  \
            STK_SYM_##name, XSTAT, version, AT_FDCWD, path, flags, out, NULL};                     \
        return serve(&call);                                                                       \
    }

#define FXSTAT_SYMBOL(name)                                                                        \
    STK_EXPORT(int, name, (int version, int fd, struct stat *out))                                 \
    {                                                                                              \
        struct stat_call call = {STK_SYM_##name, FXSTAT, version, fd, NULL, 0, out, NULL};         \
        return KNOWN_VERSION(version) ? serve_fd(&call, fd) : next_stat(&call);                    \
    }

#define FXSTATAT_SYMBOL(name)                                                                      \
    STK_EXPORT(int, name, (int version, int dirfd, const char *path, struct stat *out, int flags)) \
    {                                                                                              \
        struct stat_call call = {                                                                  \
            STK_SYM_##name, FXSTATAT, version, dirfd, path, flags, out, NULL};                     \
        return serve(&call);                                                                       \
    }

STAT_SYMBOL(stat, 0)
STAT_SYMBOL(stat64, 0)
STAT_SYMBOL(lstat, AT_SYMLINK_NOFOLLOW)
STAT_SYMBOL(lstat64, AT_SYMLINK_NOFOLLOW)
FSTAT_SYMBOL(fstat)
FSTAT_SYMBOL(fstat64)
FSTATAT_SYMBOL(fstatat)
FSTATAT_SYMBOL(fstatat64)
XSTAT_SYMBOL(__xstat, 0)
XSTAT_SYMBOL(__xstat64, 0)
XSTAT_SYMBOL(__lxstat, AT_SYMLINK_NOFOLLOW)
XSTAT_SYMBOL(__lxstat64, AT_SYMLINK_NOFOLLOW)
FXSTAT_SYMBOL(__fxstat)
FXSTAT_SYMBOL(__fxstat64)
FXSTATAT_SYMBOL(__fxstatat)
FXSTATAT_SYMBOL(__fxstatat64)

/* ---- struct statx ---- */

struct statx_call {
    int dirfd;
    const char *path;
    int flags;
    unsigned mask;
    struct statx *out;
    const struct stk_syscall *by; /* NULL: by libc's function */
};

/* Makes the raw call if libc has none: Rust's weak reference finds our symbol, and expects it to
 * work. */
static int next_statx(const struct statx_call *call)
{
    if (call->by != NULL) {
        return (int)stk_syscall_next(call->by);
    }
    int (*next)(int, const char *, int, unsigned, struct statx *) =
        (int (*)(int, const char *, int, unsigned, struct statx *))stk_next(STK_SYM_statx);
    if (next != NULL) {
        return next(call->dirfd, call->path, call->flags, call->mask, call->out);
    }
    int error = stk_sys_statx(call->dirfd, call->path, call->flags, call->mask, call->out);
    if (error != 0) {
        errno = -error;
        return -1;
    }
    return 0;
}

/* Returns the fields of a statx answer that the translation needs. */
static struct stat looks_of(const struct statx *in)
{
    struct stk_identity identity;
    struct stat stat = {.st_mode = 0};
    if (stk_identity_from_statx(&identity, in)) {
        stk_identity_to_stat(&identity, &stat);
    }
    return stat;
}

static int statx_fd(const struct statx_call *call)
{
    struct stk_identity identity;
    int result = next_statx(call);
    if (result == 0) {
        struct stat stat = looks_of(call->out);
        if (translate_fd(call->dirfd, &stat, &identity)) {
            stk_identity_to_statx(&identity, call->out);
        }
    }
    return result;
}

static int statx_uncovered(const struct statx_call *call)
{
    struct stk_identity identity;
    int result = next_statx(call);
    if (result == 0 && stk_process_is_on()) {
        struct stat stat = looks_of(call->out);
        if (translate_path(call->dirfd, call->path, &stat, &identity)) {
            stk_identity_to_statx(&identity, call->out);
        }
    }
    return result;
}

/* Returns true if a record can answer the question. It asks for the basic fields and the birth
 * time, and has no wish about how the origin is to be asked. */
static bool is_answerable(int flags, unsigned mask)
{
    const int known_flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
    return (flags & ~known_flags) == 0 &&
           (mask & ~(unsigned)(STATX_BASIC_STATS | STATX_BTIME)) == 0;
}

static __attribute__((noinline)) int statx_perhaps(const struct statx_call *call)
{
    struct answer answer = {.how = UNANSWERED};
    if (is_answerable(call->flags, call->mask)) {
        bool nofollow = (call->flags & AT_SYMLINK_NOFOLLOW) != 0;
        find_answer(call->dirfd, call->path, nofollow, &answer);
    }
    switch (answer.how) {
    case KNOWN:
        stk_identity_to_statx(&answer.known, call->out);
        return 0;
    case ASKED:
        *call->out = answer.asked;
        return 0;
    case REFUSED:
        errno = -answer.error;
        return -1;
    default:
        return statx_uncovered(call);
    }
}

static int serve_statx(const struct statx_call *call)
{
    if (!stk_process_is_on() || call->out == NULL) {
        return next_statx(call);
    }
    if (stk_path_is_empty(call->path)) {
        return (call->flags & AT_EMPTY_PATH) != 0 ? statx_fd(call) : next_statx(call);
    }
    if (!stk_cover_may_at(call->dirfd, call->path)) {
        return statx_uncovered(call);
    }
    return statx_perhaps(call);
}

STK_EXPORT(int, statx, (int dirfd, const char *path, int flags, unsigned mask, struct statx *out))
{
    const struct statx_call call = {dirfd, path, flags, mask, out, NULL};
    return serve_statx(&call);
}

/* ---- by syscall(), where struct stat is libc's ---- */

static long serve_path(const struct stk_syscall *by, int flags)
{
    const struct stat_call call = {.symbol = STK_SYM_syscall,
                                   .shape = SYSCALL,
                                   .fd = AT_FDCWD,
                                   .path = stk_syscall_pointer(by, 0),
                                   .flags = flags,
                                   .out = stk_syscall_pointer(by, 1),
                                   .by = by};
    return serve(&call);
}

long stk_syscall_stat(const struct stk_syscall *by)
{
    return serve_path(by, 0);
}

long stk_syscall_lstat(const struct stk_syscall *by)
{
    return serve_path(by, AT_SYMLINK_NOFOLLOW);
}

long stk_syscall_fstat(const struct stk_syscall *by)
{
    const struct stat_call call = {.symbol = STK_SYM_syscall,
                                   .shape = SYSCALL,
                                   .fd = stk_syscall_int(by, 0),
                                   .out = stk_syscall_pointer(by, 1),
                                   .by = by};
    return serve_fd(&call, call.fd);
}

long stk_syscall_fstatat(const struct stk_syscall *by)
{
    const struct stat_call call = {.symbol = STK_SYM_syscall,
                                   .shape = SYSCALL,
                                   .fd = stk_syscall_int(by, 0),
                                   .path = stk_syscall_pointer(by, 1),
                                   .flags = stk_syscall_int(by, 3),
                                   .out = stk_syscall_pointer(by, 2),
                                   .by = by};
    return serve(&call);
}

long stk_syscall_statx(const struct stk_syscall *by)
{
    const struct statx_call call = {stk_syscall_int(by, 0),     stk_syscall_pointer(by, 1),
                                    stk_syscall_int(by, 2),     (unsigned)stk_syscall_int(by, 3),
                                    stk_syscall_pointer(by, 4), by};
    return serve_statx(&call);
}
