/*
 * Answers readlink and readlinkat of a link that the kernel has for a descriptor (/proc/self/fd/N,
 * /dev/fd/N). For an entry's descriptor that link leads to the entry. These functions return the
 * path to which it would lead without the library: the origin's, as the kernel has it.
 *
 * Any other link costs a look at the spelling of its name, which is no number, or not below /proc
 * or /dev. If the name is a number relative to a directory, the call also looks where the directory
 * is.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sys.h"
#include "preload/coverage/entry_origin.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/syscalls.h"

struct readlink_call {
    int dirfd;
    const char *path;
    char *out;
    size_t bytes; /* of `out` */
};

/* Writes the text, cut where `out` ends, without a terminating zero, as the kernel does. */
static ssize_t give_text(const char *text, const struct readlink_call *call)
{
    size_t length = strlen(text);
    length = length < call->bytes ? length : call->bytes;
    memcpy(call->out, text, length);
    return (ssize_t)length;
}

/* Returns the length of the text that it has written. Less than 1: the link is no entry's, or the
 * kernel must report the error. */
static __attribute__((noinline)) ssize_t give_origin(const struct readlink_call *call)
{
    char name[STK_PATH_BYTES];
    struct stk_entry_origin origin;
    if (!stk_entry_origin_open_by_link(call->dirfd, call->path, &origin, name)) {
        return 0;
    }
    if (origin.fd < 0) {
        return give_text(name, call);
    }
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, origin.name, call->out, call->bytes);
    stk_sys_close(origin.fd);
    return length;
}

static __attribute__((noinline)) ssize_t answer(const struct readlink_call *call)
{
    struct stk_guard guard;
    bool fails = stk_path_is_missing(call->out) || call->bytes - 1 >= INT_MAX;
    if (fails || !stk_entry_origin_is_link(call->dirfd, call->path)) {
        return 0;
    }
    stk_guard_join(&guard); /* an entry's link is translated inside another guard, too */
    ssize_t length = give_origin(call);
    stk_guard_leave(&guard);
    return length;
}

static ssize_t serve(int dirfd, const char *path, char *out, size_t bytes)
{
    const struct readlink_call call = {dirfd, path, out, bytes};
    return stk_entry_origin_may_be_link(path) ? answer(&call) : 0;
}

/* Defines a symbol. FITS is the condition that the fortified functions check before the call: they
 * end a program for it. PARAMETERS and ARGUMENTS are bracketed lists. */
#define READLINK_SYMBOL(name, DIRFD, FITS, PARAMETERS, ARGUMENTS)                                  \
    STK_SYMBOL(ssize_t, name, PARAMETERS, ARGUMENTS)                                               \
    {                                                                                              \
        ssize_t length = (FITS) ? serve(DIRFD, path, out, bytes) : 0;                              \
        return length > 0 ? length : name##_next ARGUMENTS;                                        \
    }

READLINK_SYMBOL(readlink, AT_FDCWD, true, (const char *path, char *out, size_t bytes),
                (path, out, bytes))
READLINK_SYMBOL(readlinkat, dirfd, true, (int dirfd, const char *path, char *out, size_t bytes),
                (dirfd, path, out, bytes))
READLINK_SYMBOL(__readlink_chk, AT_FDCWD, bytes <= room,
                (const char *path, char *out, size_t bytes, size_t room), (path, out, bytes, room))
READLINK_SYMBOL(__readlinkat_chk, dirfd, bytes <= room,
                (int dirfd, const char *path, char *out, size_t bytes, size_t room),
                (dirfd, path, out, bytes, room))

/* ---- by syscall() ---- */

/* The kernel takes the size as an int. */
static long serve_syscall(const struct stk_syscall *by, int dirfd, unsigned path_at)
{
    long length =
        serve(dirfd, stk_syscall_pointer(by, path_at), stk_syscall_pointer(by, path_at + 1),
              (size_t)stk_syscall_int(by, path_at + 2));
    return length > 0 ? length : stk_syscall_next(by);
}

long stk_syscall_readlink(const struct stk_syscall *by)
{
    return serve_syscall(by, AT_FDCWD, 0);
}

long stk_syscall_readlinkat(const struct stk_syscall *by)
{
    return serve_syscall(by, stk_syscall_int(by, 0), 1);
}
