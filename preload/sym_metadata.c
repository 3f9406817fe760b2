/* Calls that change metadata by path: chmod, chown, utime, setxattr. The origin is asked again. */
#include <fcntl.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <utime.h>

#include "preload/change.h"
#include "preload/entryfd.h"
#include "preload/export.h"
#include "preload/next.h"

/*
 * Defines a symbol that makes its next call between two looks at the change; the one with the large
 * stack stands apart, as most paths name no descriptor. PARAMETERS and
 * ARGUMENTS are bracketed lists; KIND is what changes; DIRFD, the parameter `path` and FLAGS say
 * which file is meant; FOLLOW has links followed, where the call has flags to say otherwise: an
 * origin is meant by the name of a descriptor.
 */
#define METADATA_SYMBOL(name, KIND, DIRFD, FLAGS, FOLLOW, PARAMETERS, ARGUMENTS)                   \
    int stk_export_##name PARAMETERS __asm__(#name) __attribute__((visibility("default")));        \
    static int name##_subject PARAMETERS                                                           \
    {                                                                                              \
        int(*next) PARAMETERS = (int(*) PARAMETERS)stk_next(STK_SYM_##name);                       \
        stk_change(KIND, DIRFD, path);                                                             \
        int result = next != NULL ? next ARGUMENTS : stk_next_missing();                           \
        if (result == 0) {                                                                         \
            stk_change(KIND, DIRFD, path);                                                         \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    static __attribute__((noinline)) int name##_perhaps PARAMETERS                                 \
    {                                                                                              \
        struct stk_entry_origin origin;                                                            \
        const char *subject = stk_entryfd_subject(DIRFD, path, FLAGS, &origin);                    \
        if (subject != path) {                                                                     \
            path = subject;                                                                        \
            FOLLOW;                                                                                \
        }                                                                                          \
        int result = name##_subject ARGUMENTS;                                                     \
        stk_entryfd_release(&origin, STK_ORIGIN_ASKED);                                            \
        return result;                                                                             \
    }                                                                                              \
    int stk_export_##name PARAMETERS                                                               \
    {                                                                                              \
        return stk_entryfd_may_be_meant(path, FLAGS) ? name##_perhaps ARGUMENTS                    \
                                                     : name##_subject ARGUMENTS;                   \
    }

#define FOLLOWING flags &= ~AT_SYMLINK_NOFOLLOW
#define AS_IT_IS  (void)0

METADATA_SYMBOL(chmod, STK_CHANGE_ACCESS, AT_FDCWD, 0, AS_IT_IS, (const char *path, mode_t mode),
                (path, mode))
METADATA_SYMBOL(lchmod, STK_CHANGE_ACCESS, AT_FDCWD, AT_SYMLINK_NOFOLLOW, AS_IT_IS,
                (const char *path, mode_t mode), (path, mode))
METADATA_SYMBOL(fchmodat, STK_CHANGE_ACCESS, dirfd, flags, FOLLOWING,
                (int dirfd, const char *path, mode_t mode, int flags), (dirfd, path, mode, flags))
METADATA_SYMBOL(chown, STK_CHANGE_ACCESS, AT_FDCWD, 0, AS_IT_IS,
                (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
METADATA_SYMBOL(lchown, STK_CHANGE_ACCESS, AT_FDCWD, AT_SYMLINK_NOFOLLOW, AS_IT_IS,
                (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
METADATA_SYMBOL(fchownat, STK_CHANGE_ACCESS, dirfd, flags, FOLLOWING,
                (int dirfd, const char *path, uid_t uid, gid_t gid, int flags),
                (dirfd, path, uid, gid, flags))
METADATA_SYMBOL(utime, STK_CHANGE_TIMES, AT_FDCWD, 0, AS_IT_IS,
                (const char *path, const struct utimbuf *times), (path, times))
METADATA_SYMBOL(utimes, STK_CHANGE_TIMES, AT_FDCWD, 0, AS_IT_IS,
                (const char *path, const struct timeval times[2]), (path, times))
METADATA_SYMBOL(lutimes, STK_CHANGE_TIMES, AT_FDCWD, AT_SYMLINK_NOFOLLOW, AS_IT_IS,
                (const char *path, const struct timeval times[2]), (path, times))
/* Without a path it is futimes. */
METADATA_SYMBOL(futimesat, STK_CHANGE_TIMES, dirfd, path == NULL ? AT_EMPTY_PATH : 0, AS_IT_IS,
                (int dirfd, const char *path, const struct timeval times[2]), (dirfd, path, times))
METADATA_SYMBOL(utimensat, STK_CHANGE_TIMES, dirfd, path == NULL ? 0 : flags, FOLLOWING,
                (int dirfd, const char *path, const struct timespec times[2], int flags),
                (dirfd, path, times, flags))
METADATA_SYMBOL(setxattr, STK_CHANGE_ACCESS, AT_FDCWD, 0, AS_IT_IS,
                (const char *path, const char *name, const void *value, size_t bytes, int flags),
                (path, name, value, bytes, flags))
METADATA_SYMBOL(lsetxattr, STK_CHANGE_ACCESS, AT_FDCWD, AT_SYMLINK_NOFOLLOW, AS_IT_IS,
                (const char *path, const char *name, const void *value, size_t bytes, int flags),
                (path, name, value, bytes, flags))
METADATA_SYMBOL(removexattr, STK_CHANGE_ACCESS, AT_FDCWD, 0, AS_IT_IS,
                (const char *path, const char *name), (path, name))
METADATA_SYMBOL(lremovexattr, STK_CHANGE_ACCESS, AT_FDCWD, AT_SYMLINK_NOFOLLOW, AS_IT_IS,
                (const char *path, const char *name), (path, name))
