/* Lists a directory ahead of the job, as opendir does: the listing is kept where that is allowed.
 */
#pragma once

#include <stdbool.h>

#include "cache/listing/listing.h"

/* Gets the listing of a covered directory, from the cache or from the origin. Returns false if
 * there is none. The caller closes it. Safe in threads. */
bool list_ahead(struct stk_cache *cache, const char *path, struct stk_listing *out);
