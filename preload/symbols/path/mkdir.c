/* Notes the calls that make a name and change nothing else: mkdir, symlink, mknod, mkfifo. */
#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>

#include "preload/change/change.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

static int after(int result, int dirfd, const char *path)
{
    if (result == 0) {
        stk_change_listing(dirfd, path);
    }
    return result;
}

/* `PATH` and `DIRFD` name what is made; TYPE and ARGUMENTS are the call's. */
#define MAKE_SYMBOL(name, DIRFD, PATH, TYPE, ARGUMENTS, ...)                                       \
    STK_EXPORT(int, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        int(*next) TYPE = (int(*) TYPE)stk_next(STK_SYM_##name);                                   \
        stk_change_listing(DIRFD, PATH);                                                           \
        return after(next != NULL ? next ARGUMENTS : stk_next_missing(), DIRFD, PATH);             \
    }

MAKE_SYMBOL(mkdir, AT_FDCWD, path, (const char *, mode_t), (path, mode), const char *path,
            mode_t mode)
MAKE_SYMBOL(mkdirat, dirfd, path, (int, const char *, mode_t), (dirfd, path, mode), int dirfd,
            const char *path, mode_t mode)
MAKE_SYMBOL(symlink, AT_FDCWD, path, (const char *, const char *), (text, path), const char *text,
            const char *path)
MAKE_SYMBOL(symlinkat, dirfd, path, (const char *, int, const char *), (text, dirfd, path),
            const char *text, int dirfd, const char *path)
MAKE_SYMBOL(mkfifo, AT_FDCWD, path, (const char *, mode_t), (path, mode), const char *path,
            mode_t mode)
MAKE_SYMBOL(mkfifoat, dirfd, path, (int, const char *, mode_t), (dirfd, path, mode), int dirfd,
            const char *path, mode_t mode)
MAKE_SYMBOL(mknod, AT_FDCWD, path, (const char *, mode_t, dev_t), (path, mode, device),
            const char *path, mode_t mode, dev_t device)
MAKE_SYMBOL(mknodat, dirfd, path, (int, const char *, mode_t, dev_t), (dirfd, path, mode, device),
            int dirfd, const char *path, mode_t mode, dev_t device)
MAKE_SYMBOL(__xmknod, AT_FDCWD, path, (int, const char *, mode_t, dev_t *),
            (version, path, mode, device), int version, const char *path, mode_t mode,
            dev_t *device)
MAKE_SYMBOL(__xmknodat, dirfd, path, (int, int, const char *, mode_t, dev_t *),
            (version, dirfd, path, mode, device), int version, int dirfd, const char *path,
            mode_t mode, dev_t *device)

/* ---- by syscall() ---- */

static long make_at(const struct stk_syscall *by, int dirfd, const char *path)
{
    stk_change_listing(dirfd, path);
    long result = stk_syscall_next(by);
    after(result == 0 ? 0 : -1, dirfd, path);
    return result;
}

long stk_syscall_make(const struct stk_syscall *by)
{
    return make_at(by, AT_FDCWD, stk_syscall_pointer(by, 0));
}

long stk_syscall_makeat(const struct stk_syscall *by)
{
    return make_at(by, stk_syscall_int(by, 0), stk_syscall_pointer(by, 1));
}

long stk_syscall_symlink(const struct stk_syscall *by)
{
    return make_at(by, AT_FDCWD, stk_syscall_pointer(by, 1));
}

long stk_syscall_symlinkat(const struct stk_syscall *by)
{
    return make_at(by, stk_syscall_int(by, 1), stk_syscall_pointer(by, 2));
}
