/* Decides whether a thread's innermost guard can still be in use. */
#include "preload/interpose/guard.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/sys.h"

#define PAGE_BYTES 4096
/* The most stack between a guard and a call that Stoker's own work leads to. It has some of
 * Stoker's frames, the kernel's frame for a signal, and the frames of a handler or an allocator. */
#define NEAR_BYTES ((uintptr_t)256 << 10)

__thread uintptr_t stk_guard_innermost STK_TLS;

/* Returns true if this runs on a signal stack, whose place says nothing about other stacks. */
static bool is_on_signal_stack(void)
{
    stack_t stack = {.ss_flags = 0};
    const long at[6] = {0, (long)&stack};
    return stk_sys_call(SYS_sigaltstack, at) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

/* Returns true if that memory exists and holds a guard's mark. The stack of a coroutine that has
 * ended may be unmapped. */
static bool has_mark(uintptr_t guard)
{
    const uintptr_t first = guard & ~(uintptr_t)(PAGE_BYTES - 1);
    const size_t bytes = guard + sizeof(struct stk_guard) - first;
    unsigned char pages[2];
    // NOLINTBEGIN(performance-no-int-to-ptr)
    return stk_sys_mincore((void *)first, bytes, pages) == 0 &&
           ((const struct stk_guard *)guard)->mark == stk_guard_mark(guard);
    // NOLINTEND(performance-no-int-to-ptr)
}

/* Compares addresses, since stacks grow downwards on every machine that Stoker runs on. */
bool stk_guard_is_in_use(uintptr_t guard)
{
    const uintptr_t innermost = stk_guard_innermost;
    bool below = guard < innermost && innermost - guard < NEAR_BYTES;
    return (below || is_on_signal_stack()) && has_mark(innermost);
}
