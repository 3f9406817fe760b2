/* Fills one file for threads that fill many at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

/* Returns true if a file was refused because nothing has room for it. */
bool fill_is_want_of_room(enum stk_bypass why);
/* Returns true if the budget of a tier has so many bytes left. */
bool fill_has_room(const struct stk_cache *cache, uint64_t bytes);

/*
 * Fills a file as stk_cache_fill() does. If many threads fill at a time, the whole budget may be
 * reserved, at first even by the catalogue alone, which all of them try to grow. An open of the job
 * goes to the origin then, but this file would be left out. So a refused file is tried again while
 * no other thread of this process fills.
 */
void fill_persistently(struct stk_cache *cache, const struct stk_place *place, int fd,
                       int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome);
