#include "preload/interpose/syscalls.h"

#include "base/sys.h"
#include "preload/interpose/next.h"

typedef long syscall_function(long, ...);

long stk_syscall_next(const struct stk_syscall *call)
{
    const long *at = call->at;
    syscall_function *next = STK_NEXT(syscall, syscall_function *);
    return next != NULL ? next(call->number, at[0], at[1], at[2], at[3], at[4], at[5])
                        : stk_next_result(stk_sys_call(call->number, at));
}
