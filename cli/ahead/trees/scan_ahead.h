/*
 * Lists directories ahead of a scan. A process that had to list a directory itself leaves a note
 * (cache/listing/listing.h). Then the next directories beside it are listed by several threads, in
 * the order of their names and in the order of the listing. Once the scan comes to the end of one
 * of these, that is its order, and twice as many are listed as before. A scan that follows no order
 * gets a few directories in vain.
 *
 * If the job has listed directories on a deeper level, the directories below those are listed as
 * well.
 */
#pragma once

#include "cache/cache.h"

/* Starts the threads, in the job's cache. */
void scan_ahead_begin(const struct stk_cache *cache);
/* Takes a note. Does nothing before the begin. Safe in threads. */
void scan_ahead_note(const struct stk_root *root, const char *below);
