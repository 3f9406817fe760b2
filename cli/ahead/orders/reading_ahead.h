/*
 * Reads files in the order in which the job's loaders are going to open them
 * (cli/ahead/orders/order_queue.h). Threads fill the cache by the calls of an open (cache/cache.h),
 * so versions, budgets and pressure hold as they do there, and each file is read once, by the
 * thread that comes first. The threads have low priority.
 */
#pragma once

#include "cache/cache.h"

/* Starts the threads, which count by the cache's run. `jobs`: how many the user wants, or 0. The
 * cache stays the caller's. */
void reading_ahead_begin(struct stk_cache *cache, unsigned jobs);
/* Ends the threads once the queue of orders is closed. Waits for them. */
void reading_ahead_end(void);
