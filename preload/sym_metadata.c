/* Calls that change metadata by path: chmod, chown, utime, setxattr. The origin is asked again. */
#include <errno.h>
#include <fcntl.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <utime.h>

#include "preload/change.h"
#include "preload/export.h"
#include "preload/next.h"

static int unsupported(void)
{
    errno = ENOSYS;
    return -1;
}

/*
 * Defines a symbol that makes its next call between two looks at the change. PARAMETERS and
 * ARGUMENTS are bracketed lists; DIRFD and PATH say which of them name the file.
 */
#define METADATA_SYMBOL(name, DIRFD, PATH, PARAMETERS, ARGUMENTS)                                  \
    int stk_export_##name PARAMETERS __asm__(#name) __attribute__((visibility("default")));        \
    int stk_export_##name PARAMETERS                                                               \
    {                                                                                              \
        int(*next) PARAMETERS = (int(*) PARAMETERS)stk_next(STK_SYM_##name);                       \
        stk_change_metadata(DIRFD, PATH);                                                          \
        int result = next != NULL ? next ARGUMENTS : unsupported();                                \
        if (result == 0) {                                                                         \
            stk_change_metadata(DIRFD, PATH);                                                      \
        }                                                                                          \
        return result;                                                                             \
    }

METADATA_SYMBOL(chmod, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
METADATA_SYMBOL(fchmodat, dirfd, path, (int dirfd, const char *path, mode_t mode, int flags),
                (dirfd, path, mode, flags))
METADATA_SYMBOL(chown, AT_FDCWD, path, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
METADATA_SYMBOL(lchown, AT_FDCWD, path, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
METADATA_SYMBOL(fchownat, dirfd, path,
                (int dirfd, const char *path, uid_t uid, gid_t gid, int flags),
                (dirfd, path, uid, gid, flags))
METADATA_SYMBOL(utime, AT_FDCWD, path, (const char *path, const struct utimbuf *times),
                (path, times))
METADATA_SYMBOL(utimes, AT_FDCWD, path, (const char *path, const struct timeval times[2]),
                (path, times))
METADATA_SYMBOL(lutimes, AT_FDCWD, path, (const char *path, const struct timeval times[2]),
                (path, times))
METADATA_SYMBOL(futimesat, dirfd, path,
                (int dirfd, const char *path, const struct timeval times[2]), (dirfd, path, times))
METADATA_SYMBOL(utimensat, dirfd, path,
                (int dirfd, const char *path, const struct timespec times[2], int flags),
                (dirfd, path, times, flags))
METADATA_SYMBOL(setxattr, AT_FDCWD, path,
                (const char *path, const char *name, const void *value, size_t bytes, int flags),
                (path, name, value, bytes, flags))
METADATA_SYMBOL(lsetxattr, AT_FDCWD, path,
                (const char *path, const char *name, const void *value, size_t bytes, int flags),
                (path, name, value, bytes, flags))
METADATA_SYMBOL(removexattr, AT_FDCWD, path, (const char *path, const char *name), (path, name))
METADATA_SYMBOL(lremovexattr, AT_FDCWD, path, (const char *path, const char *name), (path, name))
