#include "cli/os/priority.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEPS     10
#define LOWEST    19
#define SLICE_NS  100000 /* the kernel's shortest */
#define SAME_KIND 8      /* SCHED_FLAG_KEEP_POLICY */

/* The kernel's struct sched_attr, which only new headers of libc have. */
struct scheduling {
    uint32_t bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
};

static int lower(int nice)
{
    return nice + STEPS < LOWEST ? nice + STEPS : LOWEST;
}

/* The process's first thread has the job's own priority; this thread may have inherited a lowered
 * one. Kernels before 6.12 leave the slice as it is, and those before 5.3 refuse the call. */
void priority_lower(void)
{
    const int lowest = 2 << 13 | 7; /* IOPRIO_CLASS_BE */
    const int nice = lower(getpriority(PRIO_PROCESS, (id_t)getpid()));
    const struct scheduling low = {
        .bytes = sizeof low, .flags = SAME_KIND, .nice = nice, .slice_ns = SLICE_NS};
    if (syscall(SYS_sched_setattr, 0, &low, 0) != 0) {
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
    }
    syscall(SYS_ioprio_set, 1, 0, lowest);
}
