/*
 * This process's state: off, or the covered paths as they are spelled, or the whole cache.
 *
 * Off costs one load. With covered paths, the spelling is read from the environment at the first
 * call of any symbol, and everything else waits for the first path that matches, so a program that
 * never comes near the data set pays next to nothing. Nothing of this is set up in a constructor.
 * Threads, fork, vfork and signal handlers: safe; a thread that comes while another sets up waits
 * for it, at most half a second, then goes to the origin.
 */
#ifndef STK_PRELOAD_PROCESS_H
#define STK_PRELOAD_PROCESS_H

#include <stdbool.h>

#include "cache/cache.h"

/* Whether anything is covered in this process. */
bool stk_process_is_on(void);
/* The covered paths as spelled; only when on. */
const struct stk_roots *stk_process_spelling(void);
/* The covered paths of the runs around this one: never served, but changes there count. */
const struct stk_roots *stk_process_outer_spelling(void);
/* The cache, set up if it was not; NULL when that is under way in this or another thread. Call it
 * inside the guard. */
struct stk_cache *stk_process_cache(void);
/* A change may concern covered files, and there is no cache to note it in. If that is because it is
 * being set up, all files count as written when it is. */
void stk_process_cannot_tell(void);
/* The cache if it is set up already. */
struct stk_cache *stk_process_cache_if_ready(void);

#endif
