/* The member "report" of a record's JSON: what the page shows beyond the figures of --json. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cli/out/json.h"
#include "cli/report/series.h"
#include "cli/summary/figures.h"

/* A run as its record shows it. */
struct recorded {
    const char *name, *machine;
    time_t began;
    int64_t began_ns;  /* on CLOCK_BOOTTIME */
    int64_t passes_ns; /* `began` on the clock of passes: CLOCK_MONOTONIC */
    bool ended;        /* false: it goes on, or was killed later */
    bool outside;      /* it stands for all that ran without the command */
    int status;        /* as of waitpid(), when it has ended */
    struct series series;
    const struct figures *figures;
};

/*
 * Writes the member "report":
 *    version      Stoker's
 *    suggestions  sentences of advice, the most useful one first
 *    cache        where the first tier lies and how full it is; null without a tier
 *    epochs_s     [begin, end] of each pass of the compared loader, in seconds since the start
 *    idle_s       seconds that workers had nothing to do, of all processes added up
 *    upload_s     seconds that steps waited for uploads to a GPU
 *    bypassed     for each reason with opens: why, meaning, opens, size, setting (or null)
 *    meanings     in words, each reason that stands in "decode" or "batches"
 */
void page_facts_write(struct json *json, const struct recorded *run);
