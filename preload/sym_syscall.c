/*
 * syscall. It hands on all six arguments, as libc does, even if the caller gave fewer. The place of
 * the sixth may then be a variable of the caller's, which another thread may change: syscall reads
 * it, and never stores to it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/arch/syscall.h"
#include "base/sys.h"
#include "preload/export.h"
#include "preload/next.h"
#include "preload/process.h"
#include "preload/syscall.h"

#define X(number, name)   [number] = stk_syscall_##name,
#define OLD(number, name) STK_ARCH_OLD([number] = stk_syscall_##name, )
static stk_syscall_serve *const served[] = {
#include "preload/syscalls.def"
};
#undef X
#undef OLD

typedef long syscall_function(long, ...);

static __attribute__((noinline)) long raw(const struct stk_syscall *call)
{
    long result = stk_sys_call(call->number, call->at);
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

long stk_syscall_next(const struct stk_syscall *call)
{
    const long *at = call->at;
    syscall_function *next = STK_NEXT(syscall, syscall_function *);
    return next != NULL ? next(call->number, at[0], at[1], at[2], at[3], at[4], at[5]) : raw(call);
}

static bool is_served(long number)
{
    const unsigned long count = sizeof served / sizeof *served;
    return (unsigned long)number < count && served[number] != NULL && stk_process_is_on();
}

/* Serves a call, or hands it on. The empty asm keeps the compiler from turning the last call into a
 * jump: before a jump it may store arguments where the caller's are. */
STK_EXPORT(long, syscall, long number, long a, long b, long c, long d, long e, long f)
{
    const struct stk_syscall call = {number, {a, b, c, d, e, f}};
    long result = is_served(number) ? served[number](&call) : stk_syscall_next(&call);
    __asm__ volatile("" : "+r"(result));
    return result;
}
