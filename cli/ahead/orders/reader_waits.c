#include "cli/ahead/orders/reader_waits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define FILES_A_LOOK 16 /* a look at the scheduler's figures takes longer than a small file */

/* Returns how long the calling thread was runnable without a processor, or 0 if the kernel does not
 * say. */
static uint64_t read_delay_ns(void)
{
    char text[80] = "";
    uint64_t delay_ns = 0;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        delay_ns = got > 0 && sscanf(text, "%*u %" SCNu64, &delay_ns) == 1 ? delay_ns : 0;
        close(fd);
    }
    return delay_ns;
}

static void look_at_scheduler(struct reader_waits *waits, struct stk_run *run)
{
    uint64_t delay_ns = read_delay_ns();
    if (delay_ns > waits->delayed_ns) {
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_PROCESSORS_NS,
                      delay_ns - waits->delayed_ns);
        waits->delayed_ns = delay_ns;
    }
}

void reader_waits_count(struct reader_waits *waits, struct stk_run *run)
{
    for (int kind = STK_AHEAD_STORAGE_NS; kind < STK_AHEAD_COUNTS; kind++) {
        stk_run_count(run, STK_RUN_COUNTER(ahead) + (size_t)kind, (uint64_t)waits->waited_ns[kind]);
    }
    if (++waits->files % FILES_A_LOOK == 0) {
        look_at_scheduler(waits, run);
    }
}
