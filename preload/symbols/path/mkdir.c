/* Notes the calls that make a name and change nothing else: mkdir, symlink, mknod, mkfifo. */
#include <fcntl.h>
#include <sys/types.h>

#include "preload/change/change.h"
#include "preload/interpose/export.h"
#include "preload/interpose/syscalls.h"

static int after(int result, int dirfd, const char *path)
{
    if (result == 0) {
        stk_change_listing(dirfd, path);
    }
    return result;
}

/* The parameters `path` and DIRFD name what is made. PARAMETERS and ARGUMENTS are bracketed
 * lists. */
#define MAKE_SYMBOL(name, DIRFD, PARAMETERS, ARGUMENTS)                                            \
    STK_SYMBOL(int, name, PARAMETERS, ARGUMENTS)                                                   \
    {                                                                                              \
        stk_change_listing(DIRFD, path);                                                           \
        return after(name##_next ARGUMENTS, DIRFD, path);                                          \
    }

MAKE_SYMBOL(mkdir, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
MAKE_SYMBOL(mkdirat, dirfd, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode))
MAKE_SYMBOL(symlink, AT_FDCWD, (const char *text, const char *path), (text, path))
MAKE_SYMBOL(symlinkat, dirfd, (const char *text, int dirfd, const char *path), (text, dirfd, path))
MAKE_SYMBOL(mkfifo, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
MAKE_SYMBOL(mkfifoat, dirfd, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode))
MAKE_SYMBOL(mknod, AT_FDCWD, (const char *path, mode_t mode, dev_t device), (path, mode, device))
MAKE_SYMBOL(mknodat, dirfd, (int dirfd, const char *path, mode_t mode, dev_t device),
            (dirfd, path, mode, device))
MAKE_SYMBOL(__xmknod, AT_FDCWD, (int version, const char *path, mode_t mode, dev_t *device),
            (version, path, mode, device))
MAKE_SYMBOL(__xmknodat, dirfd,
            (int version, int dirfd, const char *path, mode_t mode, dev_t *device),
            (version, dirfd, path, mode, device))

/* ---- by syscall() ---- */

static long make_at(const struct stk_syscall *by, int dirfd, const char *path)
{
    stk_change_listing(dirfd, path);
    long result = stk_syscall_next(by);
    after(result == 0 ? 0 : -1, dirfd, path);
    return result;
}

#define MAKE_SYSCALL(name, DIRFD, PATH_AT)                                                         \
    long stk_syscall_##name(const struct stk_syscall *by)                                          \
    {                                                                                              \
        return make_at(by, DIRFD, stk_syscall_pointer(by, PATH_AT));                               \
    }

MAKE_SYSCALL(make, AT_FDCWD, 0)
MAKE_SYSCALL(makeat, stk_syscall_int(by, 0), 1)
MAKE_SYSCALL(symlink, AT_FDCWD, 1)
MAKE_SYSCALL(symlinkat, stk_syscall_int(by, 1), 2)
