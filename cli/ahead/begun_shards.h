/* Looks which big files the job reads from the beginning (cache/run/big_queue.h), and notes them
 * as evidence (cli/ahead/tree_evidence.h). */
#ifndef STK_CLI_AHEAD_BEGUN_SHARDS_H
#define STK_CLI_AHEAD_BEGUN_SHARDS_H

#include "cache/cache.h"

/* Starts the thread. Call it once the cache knows its roots. The cache must stay. */
void begun_shards_begin(struct stk_cache *cache);

#endif
