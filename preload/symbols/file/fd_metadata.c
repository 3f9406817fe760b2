/*
 * Makes calls on metadata through a descriptor. If the descriptor is an entry's, the call is made
 * on its origin. If not, the call goes on, and the descriptor's file is asked about again.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/change/change.h"
#include "preload/coverage/entry_origin.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/syscalls.h"

static bool is_entry(int fd, struct stk_entry_origin *origin)
{
    struct stk_guard guard;
    if (!stk_process_is_on()) {
        return false;
    }
    stk_guard_join(&guard); /* an entry must not be changed, inside another guard either */
    bool ours = stk_entry_origin_open(fd, origin);
    stk_guard_leave(&guard);
    return ours;
}

static int after(int result, enum stk_change kind, int fd)
{
    if (result == 0 && stk_process_is_on()) {
        stk_change_fd(kind, fd);
    }
    return result;
}

/* Returns true if fd looks like an entry. Needs only a small stack. */
static bool may_be_entry(int fd)
{
    struct stat stat;
    return stk_process_is_on() && stk_sys_fstat(fd, &stat) == 0 && stk_entryfd_may_be(&stat);
}

/* Defines a symbol. On an entry BY_PATH is called: a symbol of libc that the library defines, too,
 * so that the cache notes the change. PARAMETERS and ARGUMENTS are bracketed lists. */
#define FD_SYMBOL(type, name, PARAMETERS, ARGUMENTS, BY_PATH, AFTER)                               \
    STK_DEFINE_NEXT(type, name, PARAMETERS, ARGUMENTS)                                             \
    static __attribute__((noinline)) type name##_perhaps PARAMETERS                                \
    {                                                                                              \
        struct stk_entry_origin origin;                                                            \
        if (!is_entry(fd, &origin)) {                                                              \
            return AFTER(name##_next ARGUMENTS);                                                   \
        }                                                                                          \
        type result = BY_PATH;                                                                     \
        stk_entry_origin_release(&origin, STK_ENTRY_ORIGIN_ASKED);                                 \
        return result;                                                                             \
    }                                                                                              \
    STK_EXPORT(type, name, PARAMETERS)                                                             \
    {                                                                                              \
        return may_be_entry(fd) ? name##_perhaps ARGUMENTS : AFTER(name##_next ARGUMENTS);         \
    }

#define CHANGES(result) after(result, STK_CHANGE_ACCESS, fd)
#define DATES(result)   after(result, STK_CHANGE_TIMES, fd)
#define READS(result)   result

FD_SYMBOL(int, fchmod, (int fd, mode_t mode), (fd, mode), chmod(origin.name, mode), CHANGES)
FD_SYMBOL(int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), chown(origin.name, uid, gid),
          CHANGES)
FD_SYMBOL(int, futimens, (int fd, const struct timespec times[2]), (fd, times),
          utimensat(AT_FDCWD, origin.name, times, 0), DATES)
FD_SYMBOL(int, futimes, (int fd, const struct timeval times[2]), (fd, times),
          utimes(origin.name, times), DATES)
FD_SYMBOL(int, fsetxattr, (int fd, const char *name, const void *value, size_t bytes, int flags),
          (fd, name, value, bytes, flags), setxattr(origin.name, name, value, bytes, flags),
          CHANGES)
FD_SYMBOL(int, fremovexattr, (int fd, const char *name), (fd, name), removexattr(origin.name, name),
          CHANGES)
FD_SYMBOL(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t bytes),
          (fd, name, value, bytes), getxattr(origin.name, name, value, bytes), READS)
FD_SYMBOL(ssize_t, flistxattr, (int fd, char *list, size_t bytes), (fd, list, bytes),
          listxattr(origin.name, list, bytes), READS)

/*
 * ---- by syscall() ----
 *
 * A descriptor that is no entry's goes on in the program's own call. For an entry's descriptor
 * libc's function does as well.
 */
#define FD_SYSCALL(name, ARGUMENTS, AFTER)                                                         \
    long stk_syscall_##name(const struct stk_syscall *by)                                          \
    {                                                                                              \
        const int fd = stk_syscall_int(by, 0);                                                     \
        return may_be_entry(fd) ? (long)name ARGUMENTS : AFTER(stk_syscall_next(by));              \
    }

#define POINTER(i) stk_syscall_pointer(by, i)
#define SIZE(i)    ((size_t)by->at[i])
#define NUMBER(i)  stk_syscall_int(by, i)

static long after_syscall(long result, int fd)
{
    after(result == 0 ? 0 : -1, STK_CHANGE_ACCESS, fd);
    return result;
}

#undef CHANGES
#define CHANGES(result) after_syscall(result, fd)

FD_SYSCALL(fchmod, (fd, (mode_t)NUMBER(1)), CHANGES)
FD_SYSCALL(fchown, (fd, (uid_t)NUMBER(1), (gid_t)NUMBER(2)), CHANGES)
FD_SYSCALL(fsetxattr, (fd, POINTER(1), POINTER(2), SIZE(3), NUMBER(4)), CHANGES)
FD_SYSCALL(fremovexattr, (fd, POINTER(1)), CHANGES)
FD_SYSCALL(fgetxattr, (fd, POINTER(1), POINTER(2), SIZE(3)), READS)
FD_SYSCALL(flistxattr, (fd, POINTER(1), SIZE(2)), READS)
