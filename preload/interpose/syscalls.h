/*
 * Serves the calls that programs such as node make by syscall() and its numbers, where libc has a
 * function. Each row of preload/interpose/syscalls.def is a system call that the library answers or
 * notes as it does libc's function of that meaning. All other calls go straight on. The next
 * `syscall` makes the program's own call, never libc's function: that may do more, as setuid does
 * for all threads.
 *
 * A new system call needs a row there and a function in the file of its libc function.
 */
#pragma once

/* A program's call. The kernel reads only the lower half of most arguments, and programs may leave
 * anything in the upper half. */
struct stk_syscall {
    long number;
    long at[6];
};

/* Makes the call. Returns the kernel's answer, or -1 with errno, as syscall() does. */
long stk_syscall_next(const struct stk_syscall *call);

static inline int stk_syscall_int(const struct stk_syscall *call, unsigned at)
{
    return (int)call->at[at];
}

static inline void *stk_syscall_pointer(const struct stk_syscall *call, unsigned at)
{
    return (void *)call->at[at]; // NOLINT(performance-no-int-to-ptr)
}

/* Serves one call, if something is covered. As safe as the library's own version of the libc
 * function. */
typedef long stk_syscall_serve(const struct stk_syscall *call);

#define X(number, name)   stk_syscall_serve stk_syscall_##name;
#define OLD(number, name) stk_syscall_serve stk_syscall_##name;
#include "preload/interpose/syscalls.def"
#undef X
#undef OLD
