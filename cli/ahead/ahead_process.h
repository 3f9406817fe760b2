/*
 * The process that asks storage ahead of the job: a process of `stoker run`. Its threads read files
 * in the order of the job's loaders (cli/ahead/orders/reading_ahead.h) and then, for --warm, all
 * others (cli/fill/fill_ahead.h). They finish big files that the job has begun
 * (cli/fill/finisher.h), list directories ahead of a scan (cli/ahead/trees/scan_ahead.h), and make
 * the revalidations that the job's processes have queued (cli/ahead/validator.h).
 *
 * A thread that waits for a server that hangs cannot be ended, and neither can its process. So
 * these threads are not in the command: it leaves the process behind.
 */
#pragma once

#include "cache/run/run.h"
#include "cli/args/request.h"
#include "cli/fill/fill_figures.h"
#include "cli/fill/finisher.h"

struct ahead_outcome {
    struct fill_figures filled; /* for --warm */
    struct finisher_figures finished;
};

/* Call it before the job starts. Returns what STOKER_ORDERS is to be, or NULL: no loader is to send
 * its order. The text stays. */
const char *ahead_process_prepare(void);
/* Starts the process, which counts in the run what it reads. Call it after finisher_prepare(),
 * after the environment was set, and before there are threads. The request must stay. Without the
 * process nothing is read ahead, and the job validates by itself. */
void ahead_process_begin(const struct request *request, struct stk_run *run);
/* Returns the process, or 0. */
pid_t ahead_process_pid(void);
/* Ends the process. Writes its outcome as far as that is known. */
void ahead_process_end(struct ahead_outcome *out);
