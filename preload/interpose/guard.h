/*
 * Guards Stoker's own work in a program's thread. The guard keeps the thread's errno. Calls that
 * the work leads to (through an allocator, a signal handler, a vfork child) go straight on to the
 * next library.
 *
 * Inside a guard serving may be off, but never the noting of what the program changes: a handler
 * may write while the thread is inside. Notes are lock-free and wait for no process, so any code
 * may make them.
 *
 * A handler may leave the work for good by siglongjmp or an exception. So the thread remembers
 * where its guard lies on the stack, and ignores a guard that cannot be in use any more.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Initial-exec: no call into the loader, and nothing is allocated at the first use in a thread. */
#define STK_TLS __attribute__((tls_model("initial-exec")))

struct stk_guard {
    int saved_errno;
    uintptr_t outer;
    uintptr_t mark; /* of a guard that was entered here */
};

/* The address of this thread's innermost guard; 0 outside of any guard. */
extern __thread uintptr_t stk_guard_innermost STK_TLS;

/*
 * Returns true if the thread's innermost guard may still be in use. `guard` is the place of the
 * caller's own guard, which is not yet entered. The innermost guard is out of use if the stack was
 * unwound beyond it, or if something else lies in its place. A guard that a jump abandoned may look
 * in use to deeper calls, until other calls write over it: the deeper calls go to the origin. Costs
 * system calls only inside a guard or after a jump.
 */
bool stk_guard_is_in_use(uintptr_t guard);

/* Returns the mark that a guard in use holds. */
static inline uintptr_t stk_guard_mark(uintptr_t guard)
{
    return guard ^ (uintptr_t)UINT64_C(0x6a09e667f3bcc908);
}

/* Enters the guard to note a change, inside another guard as well. */
static inline void stk_guard_join(struct stk_guard *guard)
{
    guard->saved_errno = errno;
    guard->outer = stk_guard_innermost;
    guard->mark = stk_guard_mark((uintptr_t)guard);
    stk_guard_innermost = (uintptr_t)guard;
}

/* Enters the guard to serve. Returns false inside another guard: then the caller must make the next
 * call and nothing else. */
static inline bool stk_guard_enter(struct stk_guard *guard)
{
    if (stk_guard_innermost != 0) {
        if (stk_guard_is_in_use((uintptr_t)guard)) {
            return false;
        }
        stk_guard_innermost = 0;
    }
    stk_guard_join(guard);
    return true;
}

static inline void stk_guard_leave(const struct stk_guard *guard)
{
    stk_guard_innermost = guard->outer;
    errno = guard->saved_errno;
}
