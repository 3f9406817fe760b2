/*
 * Filling ahead: threads of the command list and fill the files that a run covers, by the same
 * calls as an open of the job makes (cache/cache.h). So versions, budgets and pressure hold as they
 * do there. A file that is filled already costs one look. Beside a running job each file is read
 * once, by the thread that comes first. A job may wait for a file that is being filled here, so
 * these threads have low priority without ever starving.
 */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"
#include "cli/args/request.h"
#include "cli/fill/fill_figures.h"

/* Returns how many threads suit the slowest kind of origin among these roots. */
unsigned fill_ahead_jobs(const struct stk_roots *roots);

/* Fills the files at the request's paths, or this node's part of them. Returns when all is done or
 * fill_ahead_stop() was called. One call at a time in a process. A dry run needs only the cache's
 * options, its roots and the tier's home, and changes nothing. */
void fill_ahead_run(struct stk_cache *cache, const struct request *request);
/* Does the same beside a job, and counts in the run of `cache` what it reads. Its threads read no
 * further file while `gives_way` returns true: other files are wanted before. */
void fill_ahead_beside(struct stk_cache *cache, const struct request *request,
                       bool (*gives_way)(void));
/* Ends fill_ahead_beside(), which another thread has called, and waits for its threads. That takes
 * long if they wait for an origin. */
void fill_ahead_end(void);
/* Makes fill_ahead_run() return soon. Safe in signal handlers. */
void fill_ahead_stop(void);
/* Reads the figures, during filling or afterwards. */
void fill_ahead_read(struct fill_figures *out);
/* Returns the first directory that could not be read, with the reason, or "". For files:
 * filler_failure(). */
const char *fill_ahead_failed_directory(void);
