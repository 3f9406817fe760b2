/* Pauses between two looks at something that ends without an event. */
#pragma once

#include <stdint.h>

/* Pauses for a part of the time since `began_ns` (stk_clock_boottime_ns()), 10 ms at most. So what
 * ends soon is seen soon, and what takes long costs few looks. */
void pause_since(int64_t began_ns);
