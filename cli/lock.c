/* The lock of a home. See cli/lock.h. */
#include "cli/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/home.h"

static int open_lock(const char *path, const char *home, int create)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    if (create) {
        int error = stk_home_ensure(home);
        if (error != 0) {
            return error;
        }
        flags |= O_CREAT;
    }
    int fd = open(path, flags, 0600);
    return fd >= 0 ? fd : -errno;
}

/* Whether the file we have locked still is the one of that name. */
static int is_current(int fd, const char *path)
{
    struct stat ours, theirs;
    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

int lock_take(const char *home, int create)
{
    char path[STK_HOME_BYTES + 8];
    snprintf(path, sizeof path, "%s/lock", home);
    for (;;) {
        int fd = open_lock(path, home, create);
        if (fd < 0 && !(fd == -ENOENT && create)) {
            return fd;
        }
        if (fd < 0) {
            continue; /* removed between making and opening */
        }
        while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
        }
        if (is_current(fd, path)) {
            return fd;
        }
        close(fd);
    }
}

void lock_release(int fd)
{
    close(fd);
}

int lock_is_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return 0;
    }
    int held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}
