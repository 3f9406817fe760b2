/*
 * Ranges of big files that no tier holds: the command has the kernel fetch them into its page
 * cache, where the job's own reads find them. A loader's order has such a range in the place of a
 * path, as preload/serve/opened.h notes it.
 *
 * Safe in threads.
 */
#pragma once

#include <stdint.h>

#include "cache/cache_core.h"
#include "cli/ahead/orders/range_name.h"

void range_ahead_begin(struct stk_cache *cache);
/* Has a file opened of which a sample has read a range, if no tier has room for the file. Another
 * name than that of a range is none. */
void range_ahead_expect(const char *name);
/* Reads a range. Returns how many bytes storage was asked for: 0 if the range was there, or is not
 * read ahead. */
uint64_t range_ahead_read(const char *name, const struct range_name *range);
