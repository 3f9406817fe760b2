/* Reads the clocks, in nanoseconds. Makes raw system calls, so that a faked time (libfaketime)
 * stays out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/sys.h"

#define STK_NS_PER_S 1000000000LL

/* Returns the time for everything the catalogue remembers. That time goes on in suspend, never
 * steps, and is equal in all processes. It is CLOCK_BOOTTIME as the machine has it: in a time
 * namespace, less the namespace's offset. The first call of a process reads that offset in /proc.
 * Lock-free; safe in threads, after fork and in signal handlers. */
int64_t stk_clock_boottime_ns(void);

/* Converts a time that the kernel gave in this process's namespace to the machine's. */
int64_t stk_clock_of_machine_ns(int64_t told_ns);

/* Returns false if the namespace's offset is unknown: times then differ between processes. */
bool stk_clock_is_known(void);

/* Note that a call will give, or has given, this process or its children another time namespace.
 * Afterwards each reading of the clock reads the offset, too. */
void stk_clock_will_move(void);
void stk_clock_has_moved(void);

/* Returns the wall clock's time, for comparing with the time stamps of files. */
static inline int64_t stk_clock_realtime_ns(void)
{
    return stk_sys_clock_ns(CLOCK_REALTIME);
}
