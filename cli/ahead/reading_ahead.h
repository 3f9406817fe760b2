/*
 * Reads ahead of the job: a process of the command fills the cache with the files that the job's
 * loaders are going to open, in that order (cli/ahead/order_queue.h). Its threads fill by the calls
 * of an open (cache/cache.h), so versions, budgets and pressure hold as they do there, and each
 * file is read once, by the thread that comes first. The threads have low priority.
 *
 * An origin that hangs may block that process for ever, but not the command, which leaves the
 * process behind.
 */
#ifndef STK_CLI_AHEAD_READING_AHEAD_H
#define STK_CLI_AHEAD_READING_AHEAD_H

#include <stdint.h>

#include "cache/run/run.h"
#include "cli/args/request.h"

struct ahead_figures {
    uint64_t files, bytes; /* read by that process */
};

/* Call it before the job starts. Returns what STOKER_ORDERS is to be, or NULL: nothing is read
 * ahead. The text stays. */
const char *reading_ahead_prepare(void);
/* Starts the process. Call it after the environment was set and before there are threads. */
void reading_ahead_begin(const struct request *request, struct stk_run *run);
/* Ends the process. */
void reading_ahead_end(struct ahead_figures *out);

#endif
