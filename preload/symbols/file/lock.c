/*
 * Prepares files for flock, lockf, and fcntl's commands for locks. A lock of an entry would not
 * exclude processes that lock the file. So the first lock puts the origin in the entry's place.
 * lockf and fcntl's first commands take locks of the process, which end with the close of any
 * descriptor of the file. The other locks belong to the open file.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "preload/change/posix_lock.h"
#include "preload/change/restore.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

/* ---- flock ---- */

static void before_flock(int fd, int operation)
{
    if ((operation & LOCK_UN) == 0) {
        stk_restore_for_lock(fd, (operation & LOCK_SH) != 0);
    }
}

STK_SYMBOL(int, flock, (int fd, int operation), (fd, operation))
{
    before_flock(fd, operation);
    return flock_next(fd, operation);
}

long stk_syscall_flock(const struct stk_syscall *by)
{
    before_flock(stk_syscall_int(by, 0), stk_syscall_int(by, 1));
    return stk_syscall_next(by);
}

/* ---- lockf ---- */

#define LOCKF_SYMBOL(name)                                                                         \
    STK_SYMBOL(int, name, (int fd, int command, off_t bytes), (fd, command, bytes))                \
    {                                                                                              \
        if (command != F_ULOCK) {                                                                  \
            stk_posix_lock_before(fd);                                                             \
        }                                                                                          \
        return name##_next(fd, command, bytes);                                                    \
    }

LOCKF_SYMBOL(lockf)
LOCKF_SYMBOL(lockf64)

/* ---- fcntl ---- */

static bool is_unlock(long argument)
{
    const struct flock *lock = (const struct flock *)argument; // NOLINT(performance-no-int-to-ptr)
    return stk_path_is_missing((const char *)lock) || lock->l_type == F_UNLCK;
}

/* Prepares an fcntl that takes a lock or asks for one. The question, too, is about the file and not
 * about the entry. */
static void before_fcntl(int fd, int command, long argument)
{
    switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_GETLK:
        if (command == F_GETLK || !is_unlock(argument)) {
            stk_posix_lock_before(fd);
        }
        break;
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_OFD_GETLK:
        if (command == F_OFD_GETLK || !is_unlock(argument)) {
            stk_restore_for_lock(fd, false);
        }
        break;
    case F_SETLEASE:
        if (argument != F_UNLCK) {
            stk_restore_for_lock(fd, false);
        }
        break;
    default:
        break;
    }
}

/* Takes the flag off by which the library opens entries (base/sys.h). A program that gives
 * O_NOATIME itself gets the origin, whose flags stay as they are. In doubt the flag is taken off:
 * few programs give it. */
static long after_fcntl(int fd, int command, long result)
{
    struct stk_guard guard;
    if (command != F_GETFL || result <= 0 || (result & O_NOATIME) == 0 || !stk_process_is_on()) {
        return result;
    }
    stk_guard_join(&guard); /* an entry's flags are translated inside another guard, too */
    bool own = stk_entryfd_is_none(fd);
    stk_guard_leave(&guard);
    return own ? result : result & ~(long)O_NOATIME;
}

static int serve_fcntl(enum stk_symbol symbol, int fd, int command, long argument)
{
    int (*next)(int, int, ...) = (int (*)(int, int, ...))stk_next(symbol);
    const struct stk_syscall same = {SYS_fcntl, {fd, command, argument}};
    before_fcntl(fd, command, argument);
    long result = next != NULL ? next(fd, command, argument) : stk_syscall_next(&same);
    return (int)after_fcntl(fd, command, result);
}

/* Hands the third argument on as it is, even if the program gave none, as libc does. */
#define FCNTL_SYMBOL(name)                                                                         \
    STK_EXPORT(int, name, (int fd, int command, ...))                                              \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        long argument = va_arg(arguments, long);                                                   \
        va_end(arguments);                                                                         \
        return serve_fcntl(STK_SYM_##name, fd, command, argument);                                 \
    }

FCNTL_SYMBOL(fcntl)
FCNTL_SYMBOL(fcntl64)

long stk_syscall_fcntl(const struct stk_syscall *by)
{
    int fd = stk_syscall_int(by, 0), command = stk_syscall_int(by, 1);
    before_fcntl(fd, command, by->at[2]);
    return after_fcntl(fd, command, stk_syscall_next(by));
}
