/* The cache as the job's processes see it, for threads of `stoker run` beside them. It is opened
 * once, from the environment that the job gets. */
#pragma once

#include "cache/cache.h"

/* Returns the cache, or NULL without a tier. Call it after the environment was set. The cache lives
 * as long as this process. Safe in threads, as all calls of the cache are. */
struct stk_cache *job_cache(void);
/* Returns the same cache without its run, which counts only what the job does; or NULL. */
struct stk_cache *job_cache_without_run(void);
