/*
 * Serves read, pread, readv, preadv and their kin, and calls that have the kernel read ahead. In a
 * process that has no big file open, and no failed disk, they cost one load. Else the descriptor is
 * looked at (preload/serve/big_read.h). Reads that libc makes by itself, as for a FILE, do not come
 * here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/sys.h"
#include "preload/change/restore.h"
#include "preload/coverage/entryfd.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/next.h"
#include "preload/serve/big_read.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

typedef ssize_t read_function(int, void *, size_t);
typedef ssize_t pread_function(int, void *, size_t, off_t);
typedef ssize_t preadv_function(int, const struct iovec *, int, off_t);
typedef int advise_function(int, off_t, off_t, int);
typedef ssize_t ahead_function(int, off_t, size_t);

static ssize_t finish(ssize_t result)
{
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

STK_EXPORT(ssize_t, read, (int fd, void *buffer, size_t bytes))
{
    ssize_t got;
    if (stk_big_is_any() && stk_big_read(fd, buffer, bytes, STK_BIG_HERE, &got)) {
        return got;
    }
    read_function *next = STK_NEXT(read, read_function *);
    return next != NULL ? STK_READ_TWICE(fd, next(fd, buffer, bytes))
                        : finish(stk_sys_read(fd, buffer, bytes));
}

/* If the buffer is too small, libc complains. */
STK_SYMBOL(ssize_t, __read_chk, (int fd, void *buffer, size_t bytes, size_t room),
           (fd, buffer, bytes, room))
{
    ssize_t got;
    if (stk_big_is_any() && bytes <= room && stk_big_read(fd, buffer, bytes, STK_BIG_HERE, &got)) {
        return got;
    }
    return STK_READ_TWICE(fd, __read_chk_next(fd, buffer, bytes, room));
}

STK_SYMBOL(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
{
    ssize_t got;
    if (stk_big_is_any() && stk_big_readv(fd, parts, count, STK_BIG_HERE, &got)) {
        return got;
    }
    return STK_READ_TWICE(fd, readv_next(fd, parts, count));
}

/* An offset below zero is an error, which the kernel reports. */
#define PREAD_SYMBOL(name)                                                                         \
    STK_EXPORT(ssize_t, name, (int fd, void *buffer, size_t bytes, off_t offset))                  \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && offset >= 0 && stk_big_read(fd, buffer, bytes, offset, &got)) {    \
            return got;                                                                            \
        }                                                                                          \
        pread_function *next = STK_NEXT(name, pread_function *);                                   \
        return next != NULL ? STK_READ_TWICE(fd, next(fd, buffer, bytes, offset))                  \
                            : finish(stk_sys_pread(fd, buffer, bytes, offset));                    \
    }

#define PREAD_CHK_SYMBOL(name)                                                                     \
    STK_SYMBOL(ssize_t, name, (int fd, void *buffer, size_t bytes, off_t offset, size_t room),     \
               (fd, buffer, bytes, offset, room))                                                  \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && offset >= 0 && bytes <= room &&                                    \
            stk_big_read(fd, buffer, bytes, offset, &got)) {                                       \
            return got;                                                                            \
        }                                                                                          \
        return STK_READ_TWICE(fd, name##_next(fd, buffer, bytes, offset, room));                   \
    }

#define PREADV_SYMBOL(name)                                                                        \
    STK_EXPORT(ssize_t, name, (int fd, const struct iovec *parts, int count, off_t offset))        \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && offset >= 0 && stk_big_readv(fd, parts, count, offset, &got)) {    \
            return got;                                                                            \
        }                                                                                          \
        preadv_function *next = STK_NEXT(name, preadv_function *);                                 \
        return next != NULL ? STK_READ_TWICE(fd, next(fd, parts, count, offset))                   \
                            : finish(stk_sys_preadv(fd, parts, count, offset));                    \
    }

/* Returns true if a read without waiting failed because `fd` is an entry on a tmpfs. Each tmpfs
 * refuses that flag, and the origin's file system may not. Keeps errno, unless it returns true:
 * then errno is as before the read. */
static __attribute__((noinline)) bool is_to_wait(int fd, int flags, int errno_before)
{
    struct stk_guard guard;
    struct stat stat;
    if (errno != EOPNOTSUPP || (flags & RWF_NOWAIT) == 0 || !stk_entryfd_looks_so(fd, &stat)) {
        return false;
    }
    stk_guard_join(&guard);
    bool is_entry = !stk_entryfd_is_none(fd);
    stk_guard_leave(&guard);
    errno = is_entry ? errno_before : EOPNOTSUPP;
    return is_entry;
}

/* Offset -1 reads at the descriptor's offset. Flags (not to wait, and the like) are for the
 * kernel. */
#define PREADV2_SYMBOL(name)                                                                       \
    STK_SYMBOL(ssize_t, name,                                                                      \
               (int fd, const struct iovec *parts, int count, off_t offset, int flags),            \
               (fd, parts, count, offset, flags))                                                  \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && flags == 0 && offset >= STK_BIG_HERE &&                            \
            stk_big_readv(fd, parts, count, offset, &got)) {                                       \
            return got;                                                                            \
        }                                                                                          \
        const int errno_before = errno;                                                            \
        got = STK_READ_TWICE(fd, name##_next(fd, parts, count, offset, flags));                    \
        if (got < 0 && is_to_wait(fd, flags, errno_before)) {                                      \
            got = name##_next(fd, parts, count, offset, flags & ~RWF_NOWAIT);                      \
        }                                                                                          \
        return got;                                                                                \
    }

PREAD_SYMBOL(pread)
PREAD_SYMBOL(pread64)
PREAD_CHK_SYMBOL(__pread_chk)
PREAD_CHK_SYMBOL(__pread64_chk)
PREADV_SYMBOL(preadv)
PREADV_SYMBOL(preadv64)
PREADV2_SYMBOL(preadv2)
PREADV2_SYMBOL(preadv64v2)

/* ---- reading ahead ---- */

struct advice {
    int fd, result;
    advise_function *next;
};

static void advise(void *call, off_t offset, off_t bytes)
{
    struct advice *advice = call;
    advice->result = advice->next(advice->fd, offset, bytes, POSIX_FADV_WILLNEED);
}

/* Blocks that are there would be read once more, in vain. */
#define ADVISE_SYMBOL(name)                                                                        \
    STK_EXPORT(int, name, (int fd, off_t offset, off_t bytes, int what))                           \
    {                                                                                              \
        struct advice advice = {.fd = fd, .next = STK_NEXT(name, advise_function *)};              \
        if (advice.next == NULL) {                                                                 \
            return ENOSYS;                                                                         \
        }                                                                                          \
        if (stk_big_is_any() && what == POSIX_FADV_WILLNEED &&                                     \
            stk_big_ahead(fd, offset, bytes, advise, &advice)) {                                   \
            return advice.result;                                                                  \
        }                                                                                          \
        return advice.next(fd, offset, bytes, what);                                               \
    }

ADVISE_SYMBOL(posix_fadvise)
ADVISE_SYMBOL(posix_fadvise64)

struct ahead {
    int fd, error;
    ssize_t result;
    ahead_function *next;
};

static void read_ahead(void *call, off_t offset, off_t bytes)
{
    struct ahead *ahead = call;
    if (ahead->result == 0) {
        ahead->result = ahead->next(ahead->fd, offset, (size_t)bytes);
        ahead->error = errno;
    }
}

STK_EXPORT(ssize_t, readahead, (int fd, off_t offset, size_t bytes))
{
    struct ahead ahead = {.fd = fd, .next = STK_NEXT(readahead, ahead_function *)};
    if (ahead.next == NULL) {
        return stk_next_missing();
    }
    if (stk_big_is_any() && bytes != 0 && bytes <= INT64_MAX &&
        stk_big_ahead(fd, offset, (off_t)bytes, read_ahead, &ahead)) {
        errno = ahead.result < 0 ? ahead.error : errno;
        return ahead.result;
    }
    return ahead.next(fd, offset, bytes);
}
