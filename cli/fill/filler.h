/* Fills one file ahead, by the calls that an open of the job makes, and counts the outcomes. The
 * threads of cli/fill/fill_ahead.h call it. */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"
#include "cli/args/request.h"
#include "cli/fill/fill_figures.h"
#include "cli/fill/read_cancel.h"
#include "cli/fill/tree_scan.h"

/* Call it before any thread. Both arguments must stay. */
void filler_begin(struct stk_cache *cache, const struct request *request);
/* Counts in this run what is filled from now on, as read ahead of its job. */
void filler_count_in(struct stk_run *run);
/* Returns true if this node is to fill the file. */
bool filler_wants(const struct scanned_file *file);
/* Fills the file if need be. Its origin is read under the thread's read cancel. */
void filler_take(const struct scanned_file *file, struct read_cancel *cancel);
/* Returns true if nothing more fits. */
bool filler_is_full(void);
/* Reads the figures so far. */
void filler_read(struct fill_figures *out);
/* Returns the first file that could not be opened, with the reason, or "". */
const char *filler_failure(void);
