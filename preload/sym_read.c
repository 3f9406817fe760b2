/*
 * read, pread, readv, preadv and their kin. Where this process has no big file open, that costs one
 * load; else the descriptor is looked at (preload/big.h). What libc reads by itself, as for a FILE,
 * comes by none of these names.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/sys.h"
#include "preload/big.h"
#include "preload/export.h"
#include "preload/next.h"

typedef ssize_t read_function(int, void *, size_t);
typedef ssize_t read_chk_function(int, void *, size_t, size_t);
typedef ssize_t pread_function(int, void *, size_t, off_t);
typedef ssize_t pread_chk_function(int, void *, size_t, off_t, size_t);
typedef ssize_t readv_function(int, const struct iovec *, int);
typedef ssize_t preadv_function(int, const struct iovec *, int, off_t);
typedef ssize_t preadv2_function(int, const struct iovec *, int, off_t, int);

static ssize_t finish(ssize_t result)
{
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

STK_EXPORT(ssize_t, read, int fd, void *buffer, size_t bytes)
{
    ssize_t got;
    if (stk_big_is_any() && stk_big_read(fd, buffer, bytes, STK_BIG_HERE, &got)) {
        return got;
    }
    read_function *next = STK_NEXT(read, read_function *);
    return next != NULL ? next(fd, buffer, bytes) : finish(stk_sys_read(fd, buffer, bytes));
}

/* A buffer that is too small is libc's to complain of. */
STK_EXPORT(ssize_t, __read_chk, int fd, void *buffer, size_t bytes, size_t room)
{
    ssize_t got;
    if (stk_big_is_any() && bytes <= room && stk_big_read(fd, buffer, bytes, STK_BIG_HERE, &got)) {
        return got;
    }
    read_chk_function *next = STK_NEXT(__read_chk, read_chk_function *);
    return next != NULL ? next(fd, buffer, bytes, room) : stk_next_missing();
}

STK_EXPORT(ssize_t, readv, int fd, const struct iovec *parts, int count)
{
    ssize_t got;
    if (stk_big_is_any() && stk_big_readv(fd, parts, count, STK_BIG_HERE, &got)) {
        return got;
    }
    readv_function *next = STK_NEXT(readv, readv_function *);
    return next != NULL ? next(fd, parts, count) : stk_next_missing();
}

/* An offset below zero is an error, and the kernel's to tell. */
#define PREAD_SYMBOL(name)                                                                         \
    STK_EXPORT(ssize_t, name, int fd, void *buffer, size_t bytes, off_t offset)                    \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && offset >= 0 && stk_big_read(fd, buffer, bytes, offset, &got)) {    \
            return got;                                                                            \
        }                                                                                          \
        pread_function *next = STK_NEXT(name, pread_function *);                                   \
        return next != NULL ? next(fd, buffer, bytes, offset)                                      \
                            : finish(stk_sys_pread(fd, buffer, bytes, offset));                    \
    }

#define PREAD_CHK_SYMBOL(name)                                                                     \
    STK_EXPORT(ssize_t, name, int fd, void *buffer, size_t bytes, off_t offset, size_t room)       \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && offset >= 0 && bytes <= room &&                                    \
            stk_big_read(fd, buffer, bytes, offset, &got)) {                                       \
            return got;                                                                            \
        }                                                                                          \
        pread_chk_function *next = STK_NEXT(name, pread_chk_function *);                           \
        return next != NULL ? next(fd, buffer, bytes, offset, room) : stk_next_missing();          \
    }

#define PREADV_SYMBOL(name)                                                                        \
    STK_EXPORT(ssize_t, name, int fd, const struct iovec *parts, int count, off_t offset)          \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && offset >= 0 && stk_big_readv(fd, parts, count, offset, &got)) {    \
            return got;                                                                            \
        }                                                                                          \
        preadv_function *next = STK_NEXT(name, preadv_function *);                                 \
        return next != NULL ? next(fd, parts, count, offset)                                       \
                            : finish(stk_sys_preadv(fd, parts, count, offset));                    \
    }

/* With -1 it reads where the descriptor is. Flags (not to wait, and the like) are for the kernel.
 */
#define PREADV2_SYMBOL(name)                                                                       \
    STK_EXPORT(ssize_t, name, int fd, const struct iovec *parts, int count, off_t offset,          \
               int flags)                                                                          \
    {                                                                                              \
        ssize_t got;                                                                               \
        if (stk_big_is_any() && flags == 0 && offset >= STK_BIG_HERE &&                            \
            stk_big_readv(fd, parts, count, offset, &got)) {                                       \
            return got;                                                                            \
        }                                                                                          \
        preadv2_function *next = STK_NEXT(name, preadv2_function *);                               \
        return next != NULL ? next(fd, parts, count, offset, flags) : stk_next_missing();          \
    }

PREAD_SYMBOL(pread)
PREAD_SYMBOL(pread64)
PREAD_CHK_SYMBOL(__pread_chk)
PREAD_CHK_SYMBOL(__pread64_chk)
PREADV_SYMBOL(preadv)
PREADV_SYMBOL(preadv64)
PREADV2_SYMBOL(preadv2)
PREADV2_SYMBOL(preadv64v2)
