/* chdir and fchdir: the working directory is not what it was (preload/far.h). */
#include <stddef.h>

#include "preload/export.h"
#include "preload/far.h"
#include "preload/next.h"
#include "preload/syscall.h"

STK_EXPORT(int, chdir, const char *path)
{
    int (*next)(const char *) = (int (*)(const char *))stk_next(STK_SYM_chdir);
    int result = next != NULL ? next(path) : stk_next_missing();
    stk_far_moved();
    return result;
}

STK_EXPORT(int, fchdir, int fd)
{
    int (*next)(int) = (int (*)(int))stk_next(STK_SYM_fchdir);
    int result = next != NULL ? next(fd) : stk_next_missing();
    stk_far_moved();
    return result;
}

long stk_syscall_chdir(const struct stk_syscall *by)
{
    long result = stk_syscall_next(by);
    stk_far_moved();
    return result;
}
