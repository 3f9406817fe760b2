/* The clocks, in nanoseconds. Raw system calls, so that a faked time (libfaketime) stays out. */
#ifndef STK_BASE_CLOCK_H
#define STK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/sys.h"

#define STK_NS_PER_S 1000000000LL

/* For everything the catalogue remembers: goes on in suspend, never steps, equal in all processes.
 */
static inline int64_t stk_clock_boottime_ns(void)
{
    return stk_sys_clock_ns(CLOCK_BOOTTIME);
}

/* For comparing with the time stamps of files, which come from the wall clock. */
static inline int64_t stk_clock_realtime_ns(void)
{
    return stk_sys_clock_ns(CLOCK_REALTIME);
}

#endif
