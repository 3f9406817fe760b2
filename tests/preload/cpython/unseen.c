/*
 * A library that stands before libstoker.so and hides from it that the program changes files by
 * their names: such calls are made raw. So a file that a program has written itself is cached as
 * well, as if another host had written it. It must be right by its identity alone.
 *
 * A file too young to be cached is waited for when it is opened for reading, or little would be.
 * Names below /proc and /dev are left alone: they may be those of descriptors.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arch/syscall.h"

#define AGE_NS 70000000 /* more than STOKER_MIN_AGE of the tests, and a tick */
#define NS     1000000000L

/* Makes a system call that libc's syscall(), which libstoker.so stands in for, does not see. */
static long raw(long number, long a, long b, long c, long d, long e)
{
    long result = stk_arch_syscall6(number, a, b, c, d, e, 0);
    errno = result < 0 && result >= -4095 ? (int)-result : errno;
    return result < 0 && result >= -4095 ? -1 : result;
}
#define AS_LONGS(number, a, b, c, d, e, ...)                                                       \
    raw(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define CALL(...) AS_LONGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

static bool is_special(const char *path)
{
    return path != NULL && (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0);
}

static bool changes(int flags)
{
    return (flags & O_PATH) == 0 &&
           ((flags & O_ACCMODE) != O_RDONLY ||
            (flags & (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))) != 0);
}

static int64_t age_ns(const char *path, int dirfd)
{
    struct stat found;
    struct timespec now;
    if (path == NULL || CALL(SYS_newfstatat, dirfd, path, &found, 0) != 0 ||
        !S_ISREG(found.st_mode)) {
        return AGE_NS;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - found.st_ctim.tv_sec) * NS + now.tv_nsec - found.st_ctim.tv_nsec;
}

static void await_age(int dirfd, const char *path)
{
    int saved = errno;
    int64_t age = age_ns(path, dirfd);
    struct timespec left = {0, AGE_NS - age};
    if (age >= 0 && age < AGE_NS) {
        CALL(SYS_nanosleep, &left, NULL);
    }
    errno = saved;
}

/* Both are variadic where they are defined. */
#define OPENAT(name, ...)                                                                          \
    int name(__VA_ARGS__, int flags, ...)                                                          \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = va_arg(arguments, mode_t);                                                   \
        va_end(arguments);                                                                         \
        if (changes(flags) && !is_special(path)) {                                                 \
            return (int)CALL(SYS_openat, DIRFD, path, flags, mode);                                \
        }                                                                                          \
        await_age(DIRFD, path);                                                                    \
        return NEXT(name);                                                                         \
    }

#define DIRFD      AT_FDCWD
#define NEXT(name) ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode)
OPENAT(open, const char *path)
OPENAT(open64, const char *path)
#undef DIRFD
#undef NEXT
#define DIRFD dirfd
#define NEXT(name)                                                                                 \
    ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name))(dirfd, path, flags, mode)
OPENAT(openat, int dirfd, const char *path)
OPENAT(openat64, int dirfd, const char *path)

/* The rest are raw system calls, and nothing else. */
#define RAW(name, parameters, ...)                                                                 \
    int name parameters                                                                            \
    {                                                                                              \
        return (int)CALL(__VA_ARGS__);                                                             \
    }

RAW(truncate, (const char *path, off_t size), SYS_truncate, path, size)
RAW(truncate64, (const char *path, off_t size), SYS_truncate, path, size)
RAW(rename, (const char *from, const char *to), SYS_rename, from, to)
RAW(renameat, (int from_at, const char *from, int to_at, const char *to), SYS_renameat, from_at,
    from, to_at, to)
RAW(unlink, (const char *path), SYS_unlink, path)
RAW(unlinkat, (int dirfd, const char *path, int flags), SYS_unlinkat, dirfd, path, flags)
RAW(rmdir, (const char *path), SYS_rmdir, path)
RAW(link, (const char *from, const char *to), SYS_link, from, to)
RAW(linkat, (int from_at, const char *from, int to_at, const char *to, int flags), SYS_linkat,
    from_at, from, to_at, to, flags)
