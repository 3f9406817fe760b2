/*
 * Keeps a record of a run (cli/history.h), while it goes on and at its end: so that one that is
 * killed has left most of its story. The job is never in its way: what cannot be written is said
 * once, at the end.
 */
#ifndef STK_CLI_RECORDER_H
#define STK_CLI_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cli/pulse.h"
#include "cli/series.h"
#include "cli/summary_figures.h"

/* A run as its record tells of it. */
struct recorded {
    const char *name, *machine;
    time_t began;
    int64_t began_ns;  /* on CLOCK_BOOTTIME */
    int64_t passes_ns; /* the same moment, on the clock of passes: CLOCK_MONOTONIC */
    bool ended;        /* else it goes on, or was killed later */
    bool outside;      /* it is all that was done without the command */
    int status;        /* of waitpid, when it has ended */
    struct series series;
    const struct figures *figures;
};

/* Whether anything may be kept of what this run has read. */
bool recorder_is_wanted(const struct request *request);
/* Begins one; nothing is recorded where the user does not want that. */
void recorder_begin(const struct request *request, const struct session *session);
/* Looks, as often as one likes, in one thread. */
void recorder_look(const struct stk_run_counts *counts, const struct pulse_figures *pulse);
/* Writes what the run came to. No other thread may look any more. */
void recorder_end(const struct figures *figures, int status);
/* Keeps one of all that was done without the command until now. */
void recorder_put_outside(const struct figures *figures);

#endif
