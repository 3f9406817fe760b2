/*
 * The guard around our own work in a program's thread: keeps its errno, and makes calls that our
 * work leads to (through an allocator, a signal handler, a vfork child) go straight on.
 *
 * It may switch serving off, never noting what the program changes: a handler may write while we
 * are inside, and a thread that has left us by siglongjmp has the guard for good. Notes are
 * lock-free and wait for nobody, so they may be made inside of anything.
 */
#ifndef STK_PRELOAD_GUARD_H
#define STK_PRELOAD_GUARD_H

#include <errno.h>
#include <stdbool.h>

/* Initial-exec: no call into the loader, and nothing is allocated at the first use in a thread. */
#define STK_TLS __attribute__((tls_model("initial-exec")))

extern __thread int stk_guard_depth STK_TLS;

struct stk_guard {
    int saved_errno, saved_depth;
};

/* To note a change: always. */
static inline void stk_guard_join(struct stk_guard *guard)
{
    guard->saved_errno = errno;
    guard->saved_depth = stk_guard_depth;
    stk_guard_depth = 1;
}

/* To serve. False: we are inside already, so the caller must make the next call and nothing else.
 */
static inline bool stk_guard_enter(struct stk_guard *guard)
{
    if (stk_guard_depth != 0) {
        return false;
    }
    stk_guard_join(guard);
    return true;
}

static inline void stk_guard_leave(const struct stk_guard *guard)
{
    stk_guard_depth = guard->saved_depth;
    errno = guard->saved_errno;
}

#endif
