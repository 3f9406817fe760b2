/* The clocks, in nanoseconds. Raw system calls, so that a faked time (libfaketime) stays out. */
#ifndef STK_BASE_CLOCK_H
#define STK_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/sys.h"

#define STK_NS_PER_S 1000000000LL

/*
 * Returns the time for everything the catalogue remembers: it goes on in suspend, never steps, and
 * is equal in all processes. It is CLOCK_BOOTTIME as the machine has it: in a time namespace, less
 * the offset of the namespace. The first call of a process asks /proc for that. Lock-free; safe in
 * threads, after fork and in signal handlers.
 */
int64_t stk_clock_boottime_ns(void);

/* Returns the machine's time of one that the kernel has told, in this process's namespace. */
int64_t stk_clock_of_machine_ns(int64_t told_ns);

/* Returns false if the namespace's offset cannot be told: then times are not those of others. */
bool stk_clock_is_known(void);

/* Before and after a call that gives this process, or its children, another time namespace: from
 * then on each question for the time asks for the offset as well. */
void stk_clock_will_move(void);
void stk_clock_has_moved(void);

/* For comparing with the time stamps of files, which come from the wall clock. */
static inline int64_t stk_clock_realtime_ns(void)
{
    return stk_sys_clock_ns(CLOCK_REALTIME);
}

#endif
