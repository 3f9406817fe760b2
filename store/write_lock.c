#include "store/write_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"

#define FIRST_PAUSE_NS INT64_C(100000)
#define LAST_PAUSE_NS  INT64_C(10000000)
#define WAIT_NS        INT64_C(500000000)

static const char *const files[] = {
    [STK_WRITE_LOCK_VALUES] = "gate", [STK_WRITE_LOCK_READERS] = "readers"};

int stk_write_lock_acquire(const char *directory, enum stk_write_lock which)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", directory, files[which]);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int entered = stk_sys_create(path, O_RDWR, 0600);
    if (entered < 0) {
        errno = -entered;
        return -1;
    }
    /* Locks of fcntl belong to one process: when the parent dies, its child does not hold them on.
     */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    if (fcntl(entered, F_SETLK, &lock) != 0) {
        int error = errno == EACCES ? EAGAIN : errno;
        close(entered);
        entered = -1;
        errno = error;
    }
    return entered;
}

int stk_write_lock_wait(const char *directory, enum stk_write_lock which)
{
    int64_t pause = FIRST_PAUSE_NS, waited = 0;
    int entered = stk_write_lock_acquire(directory, which);
    while (entered < 0 && errno == EAGAIN && waited < WAIT_NS) {
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        waited += pause;
        pause = pause * 2 < LAST_PAUSE_NS ? pause * 2 : LAST_PAUSE_NS;
        entered = stk_write_lock_acquire(directory, which);
    }
    return entered;
}

void stk_write_lock_release(int entered)
{
    close(entered);
}
