/* A run's figures over time: sums of its counters at evenly spaced moments. At first they are a
 * fifth of a second apart. Whenever there would be too many, their distance doubles. So a run of
 * days has no more of them than a run of a minute. */
#pragma once

#include <stdint.h>

#include "base/tally.h"
#include "cache/run/run.h"
#include "cli/out/json.h"

#define SERIES_MOST 240

enum series_sum {
    SERIES_OPENS,
    SERIES_HITS,
    SERIES_READS,        /* of big files, answered from cached blocks */
    SERIES_BYTES_CACHE,  /* of files and blocks */
    SERIES_BYTES_ORIGIN, /* of files and blocks, by the job or ahead of it */
    SERIES_SAMPLES,      /* of all loaders */
    /* Nanoseconds, of all processes. */
    SERIES_WAITED,
    SERIES_ORIGIN,
    SERIES_DECODE,
    SERIES_RESIZE,
    SERIES_COLLATE,
    SERIES_FETCH,
    SERIES_SUMS
};

struct series_point {
    int64_t at_ns; /* since the command was started */
    uint64_t sums[SERIES_SUMS];
};

struct series {
    unsigned count;
    int64_t step_ns;
    struct series_point points[SERIES_MOST]; /* before the first one, all sums are 0 */
};

/* Adds a point if it is time for one. `tally` may be NULL. */
void series_look(struct series *series, const struct stk_run_counts *counts,
                 const struct stk_tally *tally, int64_t at_ns);
/* Adds the last point. */
void series_end(struct series *series, const struct stk_run_counts *counts,
                const struct stk_tally *tally, int64_t at_ns);
/* Writes the member "series": {"columns": [...], "rows": [[...], ...]}. Times are in seconds. */
void series_write_json(struct json *json, const struct series *series);
