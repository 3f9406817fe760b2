/*
 * Reads big files ahead of a job that reads such files from the beginning, one after the other
 * (cli/fill/big_team.h).
 */
#pragma once

#include <stdint.h>

#include "cache/cache.h"

/* Call it before any thread, with the job's cache. */
void big_ahead_begin(const struct stk_cache *cache);
/* Queues a big file, open as `fd`, which stays the caller's. Returns NONE, or the reason against
 * filling it. Safe in threads. */
enum stk_bypass big_ahead_add(const struct stk_place *place, uint32_t record, int fd,
                              int64_t opened_ns);
