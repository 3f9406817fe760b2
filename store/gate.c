/* Who may change what all share. See store/gate.h. */
#include "store/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_NS INT64_C(100000)
#define LAST_PAUSE_NS  INT64_C(10000000)
#define WAIT_NS        INT64_C(500000000)

static const char *const files[] = {[STK_GATE_VALUES] = "gate", [STK_GATE_READERS] = "readers"};

int stk_gate_enter(const char *directory, enum stk_gate gate)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", directory, files[gate]);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int entered = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Locks of this kind are a process's own: a child does not keep its parent's after its death.
     */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    if (entered >= 0 && fcntl(entered, F_SETLK, &lock) != 0) {
        int error = errno == EACCES ? EAGAIN : errno;
        close(entered);
        entered = -1;
        errno = error;
    }
    return entered;
}

int stk_gate_wait(const char *directory, enum stk_gate gate)
{
    int64_t pause = FIRST_PAUSE_NS, waited = 0;
    int entered = stk_gate_enter(directory, gate);
    while (entered < 0 && errno == EAGAIN && waited < WAIT_NS) {
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        waited += pause;
        pause = pause * 2 < LAST_PAUSE_NS ? pause * 2 : LAST_PAUSE_NS;
        entered = stk_gate_enter(directory, gate);
    }
    return entered;
}

void stk_gate_leave(int entered)
{
    close(entered);
}
