/* Notes that chdir and fchdir move the working directory (preload/coverage/outside.h). */
#include <stddef.h>

#include "preload/coverage/outside.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

STK_EXPORT(int, chdir, const char *path)
{
    int (*next)(const char *) = (int (*)(const char *))stk_next(STK_SYM_chdir);
    int result = next != NULL ? next(path) : stk_next_missing();
    stk_outside_forget_cwd();
    return result;
}

STK_EXPORT(int, fchdir, int fd)
{
    int (*next)(int) = (int (*)(int))stk_next(STK_SYM_fchdir);
    int result = next != NULL ? next(fd) : stk_next_missing();
    stk_outside_forget_cwd();
    return result;
}

long stk_syscall_chdir(const struct stk_syscall *by)
{
    long result = stk_syscall_next(by);
    stk_outside_forget_cwd();
    return result;
}
