/*
 * What the program had open, or mapped, of a file before it opens it for writing: descriptors and
 * shared maps of its entry become the origin's, so that they show what is written, as they would
 * without us.
 *
 * Only of this process: another one's keep what was there. Private maps stay as they are, since
 * nobody can tell which of their pages the program has changed; they are counted.
 */
#ifndef STK_PRELOAD_RESTORE_H
#define STK_PRELOAD_RESTORE_H

#include <sys/stat.h>

#include "cache/cache.h"

/*
 * `written` is the origin, which is open for writing, or truncated, and not given to the program
 * yet. Reads /proc/self/fd and /proc/self/maps. A number that another thread closes in the moment
 * between the last look and dup3 may be another file's by then. Inside the guard.
 */
void stk_restore_origin(struct stk_cache *cache, const struct stat *written);

#endif
