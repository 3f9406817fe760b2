/* Samples a run's counters while the command runs. It notes when the n-th opens of files began and
 * ended, so that opens need not note it. On a terminal it shows one line of progress during the
 * first epoch. */
#pragma once

#include <stdint.h>

#include "base/tally.h"
#include "cache/run/run.h"
#include "cli/args/request.h"

/* Times of the n-th opens: of the sample before the first one, and of the sample that found the
 * last one. On CLOCK_BOOTTIME; 0: there was none. */
struct epoch_times {
    int64_t begun_ns[STK_RUN_EPOCHS], ended_ns[STK_RUN_EPOCHS];
};

/* Gets the counters of each sample, in the sampler's thread. */
typedef void sampler_call(const struct stk_run_counts *counts, const struct epoch_times *times);
/* Starts a thread that samples, and calls `each` after each sample. `tally` may be NULL. */
void sampler_begin(const struct request *request, const struct stk_run *run,
                   const struct stk_tally *tally, sampler_call *each);
/* Takes a last sample, and ends the thread. */
void sampler_end(struct epoch_times *out);
