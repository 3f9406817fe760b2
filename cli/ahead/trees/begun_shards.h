/* Looks which big files the job reads from the beginning (cache/run/big_queue.h), and notes them
 * as evidence (cli/ahead/trees/tree_evidence.h). */
#pragma once

#include "cache/cache.h"

/* Starts the thread. Call it once the cache knows its roots. The cache must stay. */
void begun_shards_begin(struct stk_cache *cache);
