#include "cache/catalogue/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/home.h"

int stk_shared_file_make(const char *path, stk_shared_file_write *write, const void *context)
{
    char draft[STK_HOME_BYTES + 96];
    uint64_t number = (uint64_t)stk_clock_boottime_ns() ^ (uint64_t)stk_sys_getpid() << 40;
    int fd = stk_text_print(draft, sizeof draft, "%s.%016lx", path, number)
                 ? stk_sys_create(draft, O_RDWR | O_EXCL, 0600)
                 : -ENAMETOOLONG;
    if (fd < 0) {
        return fd;
    }
    int error = write(fd, context);
    stk_sys_close(fd);
    if (error == 0) {
        error = stk_sys_rename_noreplace(draft, path);
    }
    if (error != 0) {
        stk_sys_unlinkat(AT_FDCWD, draft, 0);
    }
    return error;
}

int stk_shared_file_open(const char *path, struct stat *stat)
{
    int fd = stk_sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0) {
        return fd;
    }
    int error = stk_sys_fstat(fd, stat);
    if (error == 0 && (!S_ISREG(stat->st_mode) || stat->st_uid != stk_sys_geteuid() ||
                       (stat->st_mode & 077) != 0)) {
        error = -EPERM;
    }
    return stk_sys_opened(fd, error);
}

void *stk_shared_file_map(int fd, off_t offset, size_t bytes)
{
    struct stat stat;
    if (stk_sys_fstat(fd, &stat) != 0 || stat.st_size < offset + (off_t)bytes) {
        return NULL;
    }
    return stk_sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}
