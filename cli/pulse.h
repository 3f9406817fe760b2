/*
 * What a run has done by now, looked at now and then while the command runs: when the n-th opens of
 * files began and ended, which nobody has to note at an open; and, on a terminal, one line during
 * the first epoch that tells how far it is.
 */
#ifndef STK_CLI_PULSE_H
#define STK_CLI_PULSE_H

#include <stdint.h>

#include "base/tally.h"
#include "cache/run.h"
#include "cli/request.h"

/* Of the n-th opens: the look before the first of them, the look that found the last. On
 * CLOCK_BOOTTIME; 0: there was none. */
struct pulse_figures {
    int64_t begun_ns[STK_RUN_EPOCHS], ended_ns[STK_RUN_EPOCHS];
};

/* Starts a thread that looks. `tally` may be NULL. */
void pulse_begin(const struct request *request, const struct stk_run *run,
                 const struct stk_tally *tally);
/* Looks once more, and ends that. */
void pulse_end(struct pulse_figures *out);

#endif
