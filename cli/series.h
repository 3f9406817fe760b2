/*
 * How a run came to its figures: sums of its counters at moments that are equally far apart, at
 * first a fifth of a second, and twice as far each time that there would be too many of them. So a
 * run of days has no more of them than one of a minute.
 */
#ifndef STK_CLI_SERIES_H
#define STK_CLI_SERIES_H

#include <stdint.h>
#include <stdio.h>

#include "base/tally.h"
#include "cache/run.h"

#define SERIES_MOST 240

enum series_sum {
    SERIES_OPENS,
    SERIES_HITS,
    SERIES_READS,        /* of big files, answered from their blocks */
    SERIES_BYTES_CACHE,  /* of files and blocks */
    SERIES_BYTES_ORIGIN, /* the same */
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
    struct series_point points[SERIES_MOST]; /* what was before the first of them is 0 */
};

/* Looks, if it is time for that. `tally` may be NULL. */
void series_look(struct series *series, const struct stk_run_counts *counts,
                 const struct stk_tally *tally, int64_t at_ns);
/* Puts down what it came to. */
void series_end(struct series *series, const struct stk_run_counts *counts,
                const struct stk_tally *tally, int64_t at_ns);
/* What a sum was at a moment, as if it had grown evenly between two looks. */
double series_at(const struct series *series, enum series_sum sum, int64_t at_ns);
/* {"columns": [...], "rows": [[...], ...]}; times in seconds. */
void series_write_json(FILE *out, const struct series *series);

#endif
