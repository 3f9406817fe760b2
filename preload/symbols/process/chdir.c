/* Notes that chdir and fchdir move the working directory (preload/coverage/outside.h). */

#include "preload/coverage/outside.h"
#include "preload/interpose/export.h"
#include "preload/interpose/syscalls.h"

STK_SYMBOL(int, chdir, (const char *path), (path))
{
    int result = chdir_next(path);
    stk_outside_forget_cwd();
    return result;
}

STK_SYMBOL(int, fchdir, (int fd), (fd))
{
    int result = fchdir_next(fd);
    stk_outside_forget_cwd();
    return result;
}

long stk_syscall_chdir(const struct stk_syscall *by)
{
    long result = stk_syscall_next(by);
    stk_outside_forget_cwd();
    return result;
}
