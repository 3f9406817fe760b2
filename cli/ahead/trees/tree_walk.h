/*
 * Walks through a tree, and sends the paths of its files as an order
 * (cli/ahead/orders/order_queue.h). The walk goes by names, in which numbers count as such. It
 * begins behind a file that the job has opened, and comes to the files before that one at the end.
 */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"

enum tree_kind {
    TREE_FILES, /* all files below the directory */
    TREE_SHARDS /* those in the directory whose names end as the opened file's does */
};

/* Starts the walk in a thread of its own. `opened`: the path of a file below `directory`. Returns
 * false if there are too many walks. Both texts are copied. */
bool tree_walk_begin(struct stk_cache *cache, enum tree_kind kind, const char *directory,
                     const char *opened);
