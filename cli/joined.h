/*
 * The cache as the processes of the job see it, for the threads of `stoker run` that work beside
 * them: made from the environment that the job gets, once.
 */
#ifndef STK_CLI_JOINED_H
#define STK_CLI_JOINED_H

#include "cache/cache.h"

/* After the environment was set. The cache lives as long as this process; NULL: there is no tier.
 * Safe in threads, as all calls of it are. */
struct stk_cache *joined_cache(void);

#endif
