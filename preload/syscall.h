/*
 * syscall(): a program may make by it what libc has a function for, and node, for one, does. Each
 * row of preload/syscalls.def is a system call that is answered, or noted, as libc's function of
 * that meaning is; all others go straight on. The program's own call is made by the next `syscall`,
 * never by the function of libc: these do more, as setuid does for all threads.
 *
 * A new one is a row there and a function here, in the file of its libc function.
 */
#ifndef STK_PRELOAD_SYSCALL_H
#define STK_PRELOAD_SYSCALL_H

/* The kernel looks at the lower half of most arguments: programs may have left anything in the
 * upper one. */
struct stk_syscall {
    long number;
    long at[6];
};

/* Makes the call. As syscall(): -1 and errno, or the kernel's answer. */
long stk_syscall_next(const struct stk_syscall *call);

static inline int stk_syscall_int(const struct stk_syscall *call, unsigned at)
{
    return (int)call->at[at];
}

static inline void *stk_syscall_pointer(const struct stk_syscall *call, unsigned at)
{
    return (void *)call->at[at]; // NOLINT(performance-no-int-to-ptr)
}

/* Serves one call. Only where something is covered. Safe as the function of libc is here. */
typedef long stk_syscall_serve(const struct stk_syscall *call);

#define X(number, name)   stk_syscall_serve stk_syscall_##name;
#define OLD(number, name) stk_syscall_serve stk_syscall_##name;
#include "preload/syscalls.def"
#undef X
#undef OLD

#endif
