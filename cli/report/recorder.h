/* Keeps a record of a run (cli/history/history.h), while it goes on and at its end. So a run that
 * is killed has left most of its record. The job never waits for that. An error is said once, at
 * the end. */
#pragma once

#include "cli/summary/figures.h"
#include "cli/summary/sampler.h"

/* Begins a record. Records nothing if the user does not want it. */
void recorder_begin(const struct request *request, const struct session *session);
/* Takes the counters, as often as wanted, in one thread. */
void recorder_look(const struct stk_run_counts *counts, const struct epoch_times *times);
/* Writes the record of the ended run. No other thread may call recorder_look() any more. */
void recorder_end(const struct figures *figures, int status);
/* Keeps a record of all that was done without the command until now. */
void recorder_put_outside(const struct figures *figures);
