/* Who may write. See store/gate.h. */
#include "store/gate.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int stk_gate_enter(const char *directory)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/gate", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        return -1;
    }
    int gate = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Locks of this kind are a process's own: a child does not keep its parent's after its death.
     */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    if (gate >= 0 && fcntl(gate, F_SETLK, &lock) != 0) {
        close(gate);
        gate = -1;
    }
    return gate;
}

void stk_gate_leave(int gate)
{
    close(gate);
}
