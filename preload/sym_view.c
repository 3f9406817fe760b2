/*
 * chroot, unshare and setns: the same paths mean other files afterwards, or (in another user
 * namespace) other rights to them. What the cache has resolved is not true of them, so this process
 * reads the origin from then on; a program that it executes begins anew. Before the cache is set up
 * nothing is resolved, and nothing lost.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/export.h"
#include "preload/far.h"
#include "preload/next.h"
#include "preload/process.h"
#include "preload/syscall.h"

/* The working directory may be another, too: of a mount namespace that is entered, its root. */
static int after(int result)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (result == 0) {
        stk_far_moved();
        if (cache != NULL) {
            stk_roots_lose(&cache->roots);
        }
    }
    return result;
}

STK_EXPORT(int, chroot, const char *path)
{
    int (*next)(const char *) = (int (*)(const char *))stk_next(STK_SYM_chroot);
    return after(next != NULL ? next(path) : stk_next_missing());
}

STK_EXPORT(int, unshare, int flags)
{
    int (*next)(int) = (int (*)(int))stk_next(STK_SYM_unshare);
    int result = next != NULL ? next(flags) : stk_next_missing();
    return (flags & (CLONE_NEWNS | CLONE_NEWUSER)) != 0 ? after(result) : result;
}

STK_EXPORT(int, setns, int fd, int kind)
{
    int (*next)(int, int) = (int (*)(int, int))stk_next(STK_SYM_setns);
    return after(next != NULL ? next(fd, kind) : stk_next_missing());
}

/* ---- by syscall() ---- */

static long after_syscall(long result)
{
    after(result == 0 ? 0 : -1);
    return result;
}

long stk_syscall_chroot(const struct stk_syscall *by)
{
    return after_syscall(stk_syscall_next(by));
}

long stk_syscall_unshare(const struct stk_syscall *by)
{
    long result = stk_syscall_next(by);
    bool concerns = (by->at[0] & (CLONE_NEWNS | CLONE_NEWUSER)) != 0;
    return concerns ? after_syscall(result) : result;
}

long stk_syscall_setns(const struct stk_syscall *by)
{
    return after_syscall(stk_syscall_next(by));
}
