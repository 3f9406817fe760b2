/*
 * Holds the state of this process: off, or the covered paths as they are spelled, or the whole
 * cache.
 *
 * Off costs one load. With covered paths, the first call of any symbol reads their spelling from
 * the environment. All else waits for the first path that matches, so a program that never comes
 * near the data set pays next to nothing. No constructor sets up any of this. Threads, fork, vfork
 * and signal handlers: safe. While one thread sets up, another one waits for it for at most half a
 * second, then goes to the origin.
 */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"

/* Returns true if anything is covered in this process. */
bool stk_process_is_on(void);
/* Returns the covered paths as spelled. Only when on. */
const struct stk_roots *stk_process_spelling(void);
/* Returns the covered paths of the runs around this one. Their files are never served, but changes
 * to them are noted. */
const struct stk_roots *stk_process_outer_spelling(void);
/* Returns the cache, and sets it up if it was not. Returns NULL while this or another thread is
 * setting it up. Call it inside the guard. */
struct stk_cache *stk_process_cache(void);
/* Notes that a change may concern covered files while there is no cache to note it in. If a thread
 * is setting up the cache, all files count as written once it is set up. */
void stk_process_note_missed(void);
/* Returns the cache if it is set up already, else NULL. */
struct stk_cache *stk_process_cache_if_ready(void);
