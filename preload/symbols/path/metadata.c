/* Notes the calls that change metadata by path: chmod, chown, utime, setxattr. The origin is asked
 * again. */
#include <fcntl.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <utime.h>

#include "preload/change/change.h"
#include "preload/coverage/entry_origin.h"
#include "preload/interpose/export.h"
#include "preload/interpose/syscalls.h"

/*
 * Defines a symbol that makes its next call between two looks at the change. The function with the
 * large stack stands apart, as most paths name no descriptor.
 *
 * PARAMETERS and ARGUMENTS are bracketed lists; KIND is the kind of change. DIRFD, the parameter
 * `path` and FLAGS name the file. FOLLOW has links followed, if the call has flags to say
 * otherwise: an origin is named by a descriptor's link.
 */
#define METADATA_SYMBOL(name, KIND, DIRFD, FLAGS, FOLLOW, PARAMETERS, ARGUMENTS)                   \
    STK_DEFINE_NEXT(int, name, PARAMETERS, ARGUMENTS)                                              \
    static int name##_subject PARAMETERS                                                           \
    {                                                                                              \
        stk_change(KIND, DIRFD, path);                                                             \
        int result = name##_next ARGUMENTS;                                                        \
        if (result == 0) {                                                                         \
            stk_change(KIND, DIRFD, path);                                                         \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    static __attribute__((noinline)) int name##_perhaps PARAMETERS                                 \
    {                                                                                              \
        struct stk_entry_origin origin;                                                            \
        const char *subject = stk_entry_origin_subject(DIRFD, path, FLAGS, &origin);               \
        if (subject != path) {                                                                     \
            path = subject;                                                                        \
            FOLLOW;                                                                                \
        }                                                                                          \
        int result = name##_subject ARGUMENTS;                                                     \
        stk_entry_origin_release(&origin, STK_ENTRY_ORIGIN_ASKED);                                 \
        return result;                                                                             \
    }                                                                                              \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        return stk_entry_origin_may_be_meant(path, FLAGS) ? name##_perhaps ARGUMENTS               \
                                                          : name##_subject ARGUMENTS;              \
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
/* Without a path, futimesat is futimes. */
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

/* ---- by syscall() ---- */

/* How a call names its file: by the path in argument `path_at`, and by the flags in argument
 * `flags_at`, if the call has flags. */
struct subject {
    enum stk_change kind;
    int dirfd, flags;
    unsigned path_at;
    int flags_at; /* -1: none */
};

static long change_subject(const struct stk_syscall *by, const struct subject *what)
{
    struct stk_entry_origin origin;
    struct stk_syscall real = *by;
    const char *path = stk_syscall_pointer(by, what->path_at);
    const char *subject = stk_entry_origin_subject(what->dirfd, path, what->flags, &origin);
    if (subject != path && what->flags_at >= 0) {
        real.at[what->flags_at] &= ~AT_SYMLINK_NOFOLLOW;
    }
    real.at[what->path_at] = (long)subject;
    stk_change(what->kind, what->dirfd, subject);
    long result = stk_syscall_next(&real);
    if (result == 0) {
        stk_change(what->kind, what->dirfd, subject);
    }
    stk_entry_origin_release(&origin, STK_ENTRY_ORIGIN_ASKED);
    return result;
}

static long change_path(const struct stk_syscall *by, enum stk_change kind, int flags)
{
    const struct subject what = {kind, AT_FDCWD, flags, 0, -1};
    return change_subject(by, &what);
}

static long change_at(const struct stk_syscall *by, enum stk_change kind, int flags, int flags_at)
{
    const struct subject what = {kind, stk_syscall_int(by, 0), flags, 1, flags_at};
    return change_subject(by, &what);
}

/* Returns the flags of a call. A call without a path means the descriptor itself. */
static int flags_of(const struct stk_syscall *by, int flags)
{
    return flags == 0 && by->at[1] == 0 ? AT_EMPTY_PATH : flags;
}

#define PATH_SYSCALL(name, KIND, FLAGS)                                                            \
    long stk_syscall_##name(const struct stk_syscall *by)                                          \
    {                                                                                              \
        return change_path(by, KIND, FLAGS);                                                       \
    }

#define AT_SYSCALL(name, KIND, FLAGS, FLAGS_AT)                                                    \
    long stk_syscall_##name(const struct stk_syscall *by)                                          \
    {                                                                                              \
        return change_at(by, KIND, FLAGS, FLAGS_AT);                                               \
    }

PATH_SYSCALL(chmod, STK_CHANGE_ACCESS, 0)
PATH_SYSCALL(lchown, STK_CHANGE_ACCESS, AT_SYMLINK_NOFOLLOW)
PATH_SYSCALL(utime, STK_CHANGE_TIMES, 0)
AT_SYSCALL(fchmodat, STK_CHANGE_ACCESS, 0, -1)
AT_SYSCALL(fchmodat2, STK_CHANGE_ACCESS, stk_syscall_int(by, 3), 3)
AT_SYSCALL(fchownat, STK_CHANGE_ACCESS, stk_syscall_int(by, 4), 4)
AT_SYSCALL(setxattrat, STK_CHANGE_ACCESS, stk_syscall_int(by, 2), 2) /* and removexattrat */
AT_SYSCALL(futimesat, STK_CHANGE_TIMES, flags_of(by, 0), -1)
AT_SYSCALL(utimensat, STK_CHANGE_TIMES, flags_of(by, stk_syscall_int(by, 3)), 3)
