#include "cli/os/home_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/catalogue/home.h"

static int open_lock(const char *path, const char *home, int create)
{
    int error = create ? stk_home_ensure(home) : 0;
    if (error != 0) {
        return error;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 ? fd : -errno;
}

/* Returns 1 if the file could be locked before `give_up_ns`. */
static int lock_until(int fd, int64_t give_up_ns)
{
    const struct timespec pause = {0, 2000000};
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || stk_clock_boottime_ns() > give_up_ns) {
            return 0;
        }
        nanosleep(&pause, NULL);
    }
    return 1;
}

/* Returns 1 if the locked file still has that name. */
static int is_current(int fd, const char *path)
{
    struct stat ours, theirs;
    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

int lock_take(const char *home, int create)
{
    char path[STK_HOME_BYTES + 8];
    int64_t give_up_ns = stk_clock_boottime_ns() + STK_LOCK_PATIENCE_S * STK_NS_PER_S;
    snprintf(path, sizeof path, "%s/lock", home);
    for (;;) {
        int fd = open_lock(path, home, create);
        if (fd < 0 && !(fd == -ENOENT && create)) {
            return fd;
        }
        if (fd < 0) {
            continue; /* removed between its creation and opening */
        }
        int locked = lock_until(fd, give_up_ns);
        if (locked && is_current(fd, path)) {
            return fd;
        }
        close(fd);
        if (!locked) {
            return -EBUSY;
        }
    }
}

void lock_release(int fd)
{
    stk_sys_close_opened(fd);
}

/* Tries a shared lock: so two checks do not take each other for a holder. */
int lock_is_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return 0;
    }
    int held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}
