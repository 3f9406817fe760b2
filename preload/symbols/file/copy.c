/*
 * Makes the calls by which the kernel copies between two descriptors. Some file systems refuse
 * copy_file_range across their borders. An entry's descriptor lies beyond such a border, which the
 * program does not know of, on a disk that may fail. Then the origin is copied from, but only after
 * the failure, so that other calls do not pay for it. sendfile may read a disk that fails, too.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/change/restore.h"
#include "preload/coverage/entry_origin.h"
#include "preload/interpose/export.h"
#include "preload/interpose/syscalls.h"

struct copy_call {
    int fd_in;
    off64_t *offset_in;
    int fd_out;
    off64_t *offset_out;
    size_t bytes;
    unsigned flags;
};

STK_DEFINE_NEXT(ssize_t, copy_file_range,
                (int fd_in, off64_t *offset_in, int fd_out, off64_t *offset_out, size_t bytes,
                 unsigned flags),
                (fd_in, offset_in, fd_out, offset_out, bytes, flags))

static ssize_t copy_next(const struct copy_call *call)
{
    return copy_file_range_next(call->fd_in, call->offset_in, call->fd_out, call->offset_out,
                                call->bytes, call->flags);
}

/* Copies from the origin, at the offset of the entry's descriptor, which moves on instead of the
 * origin's. */
static ssize_t copy_from(int origin, const struct copy_call *call)
{
    struct copy_call real = *call;
    off64_t offset = 0;
    real.fd_in = origin;
    if (call->offset_in == NULL) {
        offset = stk_sys_lseek(call->fd_in, 0, SEEK_CUR);
        real.offset_in = &offset;
    }
    ssize_t copied = copy_next(&real);
    if (copied > 0 && call->offset_in == NULL) {
        stk_sys_lseek(call->fd_in, offset, SEEK_SET);
    }
    return copied;
}

static __attribute__((noinline)) ssize_t copy_perhaps(const struct copy_call *call, int before)
{
    STK_OWNED_FD int origin = stk_entry_origin_open_to_read(call->fd_in);
    if (origin < 0) {
        return -1;
    }
    errno = before;
    return copy_from(origin, call);
}

STK_EXPORT(ssize_t, copy_file_range,
           (int fd_in, off64_t *offset_in, int fd_out, off64_t *offset_out, size_t bytes,
            unsigned flags))
{
    struct copy_call call = {fd_in, offset_in, fd_out, offset_out, bytes, flags};
    int before = errno;
    ssize_t copied = copy_next(&call);
    return copied < 0 && (errno == EXDEV || errno == EIO) ? copy_perhaps(&call, before) : copied;
}

long stk_syscall_copy_file_range(const struct stk_syscall *by)
{
    struct copy_call call = {stk_syscall_int(by, 0), stk_syscall_pointer(by, 1),
                             stk_syscall_int(by, 2), stk_syscall_pointer(by, 3),
                             (size_t)by->at[4],      (unsigned)stk_syscall_int(by, 5)};
    int before = errno;
    long copied = stk_syscall_next(by);
    return copied < 0 && (errno == EXDEV || errno == EIO) ? copy_perhaps(&call, before) : copied;
}

#define SENDFILE_SYMBOL(name)                                                                      \
    STK_SYMBOL(ssize_t, name, (int to, int from, off_t *offset, size_t bytes),                     \
               (to, from, offset, bytes))                                                          \
    {                                                                                              \
        return STK_READ_TWICE(from, name##_next(to, from, offset, bytes));                         \
    }

SENDFILE_SYMBOL(sendfile)
SENDFILE_SYMBOL(sendfile64)
