#include "cli/os/pause.h"

#include <time.h>

#include "base/clock.h"

#define PART     4
#define LEAST_NS (STK_NS_PER_S / 10000)
#define MOST_NS  (STK_NS_PER_S / 100)

void pause_since(int64_t began_ns)
{
    int64_t part_ns = (stk_clock_boottime_ns() - began_ns) / PART;
    int64_t pause_ns = part_ns < LEAST_NS ? LEAST_NS : part_ns < MOST_NS ? part_ns : MOST_NS;
    nanosleep(&(struct timespec){0, pause_ns}, NULL);
}
