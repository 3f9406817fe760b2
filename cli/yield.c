/* Threads that work beside the job. See cli/yield.h. */
#include "cli/yield.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void yield_to_others(void)
{
    const int lowest = 2 << 13 | 7; /* IOPRIO_CLASS_BE */
    pid_t self = (pid_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, (id_t)self, 19);
    syscall(SYS_ioprio_set, 1, 0, lowest);
}
