/*
 * Answers questions about a descriptor's file system (fstatfs, fstatvfs, fpathconf) and its file's
 * flags (ioctl). For an entry's descriptor the origin is asked, if it can be opened.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/sys.h"
#include "preload/coverage/entry_origin.h"
#include "preload/coverage/entryfd.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

/* Returns the descriptor to ask: one of the origin, opened for this, or `fd` itself. `flags` is
 * O_PATH, or O_RDONLY for questions that the kernel refuses for an O_PATH descriptor. */
static __attribute__((noinline)) int subject_of(int fd, int flags)
{
    struct stk_guard guard;
    struct stk_entry_origin origin;
    int subject = -1;
    stk_guard_join(&guard);
    if (stk_entry_origin_open(fd, &origin) && origin.fd >= 0) {
        subject = origin.fd;
        if (flags != O_PATH) {
            subject = stk_sys_openat(AT_FDCWD, origin.name, flags | O_CLOEXEC, 0);
            stk_sys_close(origin.fd);
        }
    }
    stk_guard_leave(&guard);
    return subject >= 0 ? subject : fd;
}

static int begin(int fd, int flags)
{
    struct stat looks;
    return stk_entryfd_looks_so(fd, &looks) ? subject_of(fd, flags) : fd;
}

/* Closes the descriptor that begin() opened, if it did. Keeps errno. */
static void end(int subject, int fd)
{
    if (subject != fd) {
        stk_sys_close(subject);
    }
}

/* Defines a symbol whose first parameter is `fd`. PARAMETERS and ARGUMENTS are bracketed lists. */
#define QUERY_SYMBOL(type, name, PARAMETERS, ARGUMENTS)                                            \
    STK_SYMBOL(type, name, PARAMETERS, ARGUMENTS)                                                  \
    {                                                                                              \
        const int asked = fd;                                                                      \
        fd = begin(asked, O_PATH);                                                                 \
        type result = name##_next ARGUMENTS;                                                       \
        end(fd, asked);                                                                            \
        return result;                                                                             \
    }

QUERY_SYMBOL(int, fstatfs, (int fd, struct statfs *out), (fd, out))
QUERY_SYMBOL(int, fstatfs64, (int fd, struct statfs *out), (fd, out))
QUERY_SYMBOL(int, fstatvfs, (int fd, struct statvfs *out), (fd, out))
QUERY_SYMBOL(int, fstatvfs64, (int fd, struct statvfs *out), (fd, out))
QUERY_SYMBOL(long, fpathconf, (int fd, int name), (fd, name))

long stk_syscall_fstatfs(const struct stk_syscall *by)
{
    struct stk_syscall real = *by;
    const int fd = stk_syscall_int(by, 0), subject = begin(fd, O_PATH);
    real.at[0] = subject;
    long result = stk_syscall_next(&real);
    end(subject, fd);
    return result;
}

/* ---- ioctl ---- */

/* The kernel takes 32 bits of the request. A program that keeps it as an int sets the others. */
static bool asks_for_flags(unsigned request)
{
    return request == FS_IOC_GETFLAGS || request == FS_IOC_FSGETXATTR ||
           request == FS_IOC_GETVERSION;
}

/* Hands the third argument on as it is, even if the program gave none, as libc does. */
STK_EXPORT(int, ioctl, (int fd, unsigned long request, ...))
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int (*next)(int, unsigned long, ...) =
        (int (*)(int, unsigned long, ...))stk_next(STK_SYM_ioctl);
    const int subject = asks_for_flags((unsigned)request) ? begin(fd, O_RDONLY) : fd;
    int result = next != NULL ? next(subject, request, argument)
                              : (int)stk_next_result(stk_sys_ioctl(subject, request, argument));
    end(subject, fd);
    return result;
}

long stk_syscall_ioctl(const struct stk_syscall *by)
{
    struct stk_syscall real = *by;
    const int fd = stk_syscall_int(by, 0);
    const int subject = asks_for_flags((unsigned)by->at[1]) ? begin(fd, O_RDONLY) : fd;
    real.at[0] = subject;
    long result = stk_syscall_next(&real);
    end(subject, fd);
    return result;
}
