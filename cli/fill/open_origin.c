#include "cli/fill/open_origin.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"

int origin_open(const char *path)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = stk_sys_openat(AT_FDCWD, path, flags | O_NOATIME, 0);
    return fd == -EPERM ? stk_sys_openat(AT_FDCWD, path, flags, 0) : fd;
}
