/*
 * Answers access and its kin. A known file exists, and a file that has an entry was readable to
 * this user. A name that its directory's listing lacks does not exist. All other questions
 * (writable, executable, not known) are left to the origin.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/coverage/cover.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/syscalls.h"

enum answer { UNKNOWN, YES, ABSENT };

static bool ask(struct stk_cache *cache, const struct stk_place *place, int mode)
{
    struct stk_identity identity;
    return mode == F_OK ? stk_cache_stat(cache, place, false, &identity)
                        : stk_cache_is_readable(cache, place);
}

/* access() asks for the real user; entries belong to the effective user. */
static enum answer answer_of(struct stk_cache *cache, const struct stk_place *place, int mode)
{
    if (mode != F_OK && stk_sys_getuid() != stk_sys_geteuid()) {
        return UNKNOWN;
    }
    if (ask(cache, place, mode)) {
        return YES;
    }
    return stk_cache_is_absent(cache, place) ? ABSENT : UNKNOWN;
}

static __attribute__((noinline)) enum answer look(int dirfd, const char *path, int mode)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return UNKNOWN;
    }
    struct stk_cache *cache = stk_cover(dirfd, path, &place);
    enum answer answer = cache != NULL ? answer_of(cache, &place, mode) : UNKNOWN;
    stk_guard_leave(&guard);
    return answer;
}

/* Returns true if `result` is the result of the call. */
static bool is_served(int dirfd, const char *path, int mode, int *result)
{
    bool may = (mode == F_OK || mode == R_OK) && stk_cover_may(path);
    enum answer answer = may ? look(dirfd, path, mode) : UNKNOWN;
    *result = answer == ABSENT ? -1 : 0;
    if (answer == ABSENT) {
        errno = ENOENT;
    }
    return answer != UNKNOWN;
}

#define ACCESS_SYMBOL(name)                                                                        \
    STK_SYMBOL(int, name, (const char *path, int mode), (path, mode))                              \
    {                                                                                              \
        int result;                                                                                \
        return is_served(AT_FDCWD, path, mode, &result) ? result : name##_next(path, mode);        \
    }

ACCESS_SYMBOL(access)
/* A libc that lacks these is only asked for them by a program's own reference. */
ACCESS_SYMBOL(euidaccess)
ACCESS_SYMBOL(eaccess)

STK_SYMBOL(int, faccessat, (int dirfd, const char *path, int mode, int flags),
           (dirfd, path, mode, flags))
{
    int result;
    bool served = (flags & ~AT_EACCESS) == 0 && is_served(dirfd, path, mode, &result);
    return served ? result : faccessat_next(dirfd, path, mode, flags);
}

/* ---- by syscall() ---- */

long stk_syscall_access(const struct stk_syscall *by)
{
    int result;
    bool served = is_served(AT_FDCWD, stk_syscall_pointer(by, 0), stk_syscall_int(by, 1), &result);
    return served ? result : stk_syscall_next(by);
}

long stk_syscall_faccessat(const struct stk_syscall *by)
{
    int result;
    bool served = is_served(stk_syscall_int(by, 0), stk_syscall_pointer(by, 1),
                            stk_syscall_int(by, 2), &result);
    return served ? result : stk_syscall_next(by);
}

long stk_syscall_faccessat2(const struct stk_syscall *by)
{
    bool may = (stk_syscall_int(by, 3) & ~AT_EACCESS) == 0;
    return may ? stk_syscall_faccessat(by) : stk_syscall_next(by);
}
