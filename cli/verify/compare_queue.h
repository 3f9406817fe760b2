/* Copies that wait to be compared, and the threads that compare them. One thread adds copies. */
#pragma once

#include <stdint.h>

#include "cache/cache.h"
#include "cli/verify/findings.h"

/* Starts the threads, which add to `found`. Both arguments must stay. Ends with a message if no
 * thread can be started. */
void compare_queue_begin(struct stk_cache *cache, struct findings *found);
/* Adds a copy, which lies in the cache's present tier. Waits if the queue is full. */
void compare_queue_put(enum findings_kind kind, const char *copy, const char *origin);
/* Waits until the queue is empty and all comparisons have ended. Then the cache's roots and tier
 * may change. */
void compare_queue_wait(void);
/* Reads how many copies and bytes were compared. For any thread. */
void compare_queue_read(uint64_t *copies, uint64_t *bytes);
/* Waits for the remaining comparisons, and ends the threads. */
void compare_queue_end(void);
