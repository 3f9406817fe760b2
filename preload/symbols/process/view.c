/*
 * After chroot, pivot_root, unshare or setns the same paths mean other files, or (in another user
 * namespace) other rights to them. So they do in a child to which clone gives such a namespace. The
 * paths that the cache has resolved are wrong then. So this process reads the origin from then on;
 * a program that it executes begins anew.
 *
 * The cache is set up before the call. Behind it, neither the roots nor the run's table may be
 * found any more, and changes that the process makes there would not be noted. Another time
 * namespace changes only the clock.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/path.h"
#include "preload/coverage/outside.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/syscalls.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Sets the cache up. Apart, since it needs much stack. */
static __attribute__((noinline)) void before(void)
{
    struct stk_guard guard;
    if (stk_process_is_on() && stk_guard_enter(&guard)) {
        stk_process_cache();
        stk_guard_leave(&guard);
    }
}

/* Notes that the working directory may be another one: after entering a mount namespace it is that
 * namespace's root. */
static int after(int result)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (result == 0) {
        stk_outside_forget_cwd();
        if (cache != NULL) {
            stk_roots_lose(&cache->roots);
        }
    }
    return result;
}

STK_SYMBOL(int, chroot, (const char *path), (path))
{
    before();
    return after(chroot_next(path));
}

STK_SYMBOL(int, pivot_root, (const char *path, const char *old), (path, old))
{
    before();
    return after(pivot_root_next(path, old));
}

#define KINDS_OF_VIEW (CLONE_NEWNS | CLONE_NEWUSER)

/* Prepares the cache, and the clock for a call that may change the time namespace. */
static void before_kinds(int kinds)
{
    if ((kinds & KINDS_OF_VIEW) != 0) {
        before();
    }
    if ((kinds & CLONE_NEWTIME) != 0 && stk_process_is_on()) {
        stk_clock_will_move();
    }
}

static int after_kinds(int result, int kinds)
{
    if (result == 0 && (kinds & CLONE_NEWTIME) != 0) {
        stk_clock_has_moved();
    }
    return (kinds & KINDS_OF_VIEW) != 0 ? after(result) : result;
}

/* Returns the kinds of namespace that setns may enter. If `kinds` is 0, only the descriptor has the
 * kind. */
static int kinds_of_setns(int kinds)
{
    return kinds | CLONE_NEWNS | (kinds == 0 ? CLONE_NEWTIME : 0);
}

STK_SYMBOL(int, unshare, (int flags), (flags))
{
    before_kinds(flags);
    return after_kinds(unshare_next(flags), flags);
}

STK_SYMBOL(int, setns, (int fd, int kind), (fd, kind))
{
    before_kinds(kinds_of_setns(kind));
    return after_kinds(setns_next(fd, kind), kinds_of_setns(kind));
}

/* ---- a child that begins with a view of its own ---- */

/* Prepares for a child. If it shares this process's memory, both read the origin from then on. */
static void before_child(uint64_t flags)
{
    if ((flags & KINDS_OF_VIEW) != 0) {
        before();
        if ((flags & CLONE_VM) != 0) {
            after(0);
        }
    }
}

struct child {
    int (*begin)(void *);
    void *argument;
};

/* Runs in the child first, then calls the program's function. `context` lies on the parent's stack,
 * of which the child has a copy. */
static int begin_child(void *context)
{
    const struct child child = *(const struct child *)context;
    after(0);
    return child.begin(child.argument);
}

/* The caller may have given four arguments only: the others are then handed on as they lie there,
 * as libc reads them. */
STK_SYMBOL(int, clone,
           (int (*begin)(void *), void *stack, int flags, void *argument, void *parent, void *tls,
            void *child_number),
           (begin, stack, flags, argument, parent, tls, child_number))
{
    struct child child = {begin, argument};
    before_child((unsigned)flags);
    bool is_apart = begin != NULL && (flags & KINDS_OF_VIEW) != 0 && (flags & CLONE_VM) == 0;
    return is_apart ? clone_next(begin_child, stack, flags, &child, parent, tls, child_number)
                    : clone_next(begin, stack, flags, argument, parent, tls, child_number);
}

/* ---- by syscall() ---- */

static long after_syscall(long result)
{
    after(result == 0 ? 0 : -1);
    return result;
}

/* Serves chroot and pivot_root. */
long stk_syscall_chroot(const struct stk_syscall *by)
{
    before();
    return after_syscall(stk_syscall_next(by));
}

long stk_syscall_unshare(const struct stk_syscall *by)
{
    int kinds = stk_syscall_int(by, 0);
    before_kinds(kinds);
    long result = stk_syscall_next(by);
    after_kinds(result == 0 ? 0 : -1, kinds);
    return result;
}

static long clone_by(const struct stk_syscall *by, uint64_t flags)
{
    before_child(flags);
    long result = stk_syscall_next(by);
    if (result == 0 && (flags & KINDS_OF_VIEW) != 0) {
        after(0);
    }
    return result;
}

long stk_syscall_clone(const struct stk_syscall *by)
{
    return clone_by(by, (unsigned)stk_syscall_int(by, 0));
}

/* The kernel reads the flags first. If the pointer leads nowhere, the call fails. */
long stk_syscall_clone3(const struct stk_syscall *by)
{
    const uint64_t *flags = stk_syscall_pointer(by, 0);
    return clone_by(by, stk_path_is_missing((const char *)flags) ? 0 : *flags);
}

long stk_syscall_setns(const struct stk_syscall *by)
{
    int kinds = kinds_of_setns(stk_syscall_int(by, 1));
    before_kinds(kinds);
    long result = stk_syscall_next(by);
    after_kinds(result == 0 ? 0 : -1, kinds);
    return result;
}
