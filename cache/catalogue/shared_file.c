#include "cache/catalogue/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/home.h"

#define FLAGS (O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW)

int stk_shared_file_make(const char *path, stk_shared_file_write *write, const void *context)
{
    char draft[STK_HOME_BYTES + 96];
    struct stk_text name = stk_text_in(draft, sizeof draft);
    stk_text_add(&name, path);
    stk_text_add_char(&name, '.');
    stk_text_add_hex(&name, (uint64_t)stk_clock_boottime_ns() ^ (uint64_t)stk_sys_getpid() << 40,
                     16);
    int fd = name.cut ? -ENAMETOOLONG : stk_sys_openat(AT_FDCWD, draft, FLAGS, 0600);
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
