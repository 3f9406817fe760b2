/*
 * The evidence that a job goes through a tree: which files it had to read itself, directory by
 * directory. Where there are some in one directory, or more below it, the rest of its files is read
 * ahead (cli/ahead/trees/tree_walk.h). How many of these the job opens says how many more are read
 * (cli/ahead/orders/order.h).
 *
 * Loaders that send their orders know better. Once one has, no tree is walked through.
 */
#pragma once

#include "cache/cache.h"
#include "cli/ahead/trees/tree_walk.h"

/* Call it before notes are to count. The cache must stay. */
void tree_evidence_begin(struct stk_cache *cache);
/* Notes that the job reads a file, which is no hit: any file, or a big one from its beginning.
 * `below`: its path below the root. Does nothing before the begin. Safe in threads. */
void tree_evidence_note(const struct stk_root *root, const char *below, enum tree_kind kind);
