/*
 * The export hands on all six arguments, as libc does, even if the caller gave fewer. The place of
 * the sixth may then be a variable of the caller's, which another thread may change: the export
 * reads that place, and never stores to it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/arch/syscall.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/syscalls.h"

#define X(number, name)   [number] = stk_syscall_##name,
#define OLD(number, name) STK_ARCH_OLD([number] = stk_syscall_##name, )
static stk_syscall_serve *const served[] = {
#include "preload/interpose/syscalls.def"
};
#undef X
#undef OLD

static bool is_served(long number)
{
    const unsigned long count = sizeof served / sizeof *served;
    return (unsigned long)number < count && served[number] != NULL && stk_process_is_on();
}

/* Serves a call, or hands it on. The empty asm keeps the compiler from turning the last call into a
 * jump: before a jump it may store arguments where the caller's are. */
STK_EXPORT(long, syscall, (long number, long a, long b, long c, long d, long e, long f))
{
    const struct stk_syscall call = {number, {a, b, c, d, e, f}};
    long result = is_served(number) ? served[number](&call) : stk_syscall_next(&call);
    __asm__ volatile("" : "+r"(result));
    return result;
}
