/*
 * Watches two things while the command runs. Memory: when very little is left, removes entries of
 * tiers in memory (cache/tier/pressure.h); a process that has an entry open goes on reading it. The
 * sample store: grants it more room when it needs it.
 */
#pragma once

#include <stdint.h>

#include "cli/run/session.h"

/*
 * Starts two threads. One watches, five times a second and when it is woken, until watch_end() or
 * the end of this process. There is no such thread for tiers on disks without samples. The other
 * counts anew what those tiers hold whose count was due, and then makes room by removing old
 * versions (cli/run/superseded.h).
 */
void watch_begin(struct session *session);
/* Stops the threads. Returns how many bytes of entries they removed. */
uint64_t watch_end(void);
