#include "cli/os/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void priority_lower(void)
{
    const int lowest = 2 << 13 | 7; /* IOPRIO_CLASS_BE */
    pid_t self = (pid_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, (id_t)self, 19);
    syscall(SYS_ioprio_set, 1, 0, lowest);
}
