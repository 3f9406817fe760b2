/*
 * The table of what a run counts: each counter's name in JSON and, where `stoker top` offers it to
 * Prometheus, its name and meaning there. A new counter is one row.
 */
#pragma once

#include <stdint.h>

#include "cli/out/json.h"
#include "cli/summary/figures.h"

/* The objects of the JSON that hold counters; the first two are the outermost one. */
enum metric_group {
    METRIC_OPENS,
    METRIC_FILES,
    METRIC_BLOCKS,
    METRIC_AHEAD,
    METRIC_DECODE,
    METRIC_RESIZE, /* goes on with decode's object */
    METRIC_SAMPLES,
    METRIC_RESULTS,
    METRIC_BATCHES,
    METRIC_UPLOAD,
    METRIC_INNER,
    METRIC_SEEN
};

struct metric {
    enum metric_group group;
    const char *name;              /* in JSON; one that ends in "_s" is in seconds there */
    const char *prometheus, *help; /* NULL: not there. "_total" is a counter, all else a gauge */
    uint64_t (*read)(const struct figures *figures, int which);
    int which;
};

extern const struct metric metrics_table[];
extern const unsigned metrics_count;

/* Writes the members of a group. */
void metrics_write(struct json *json, enum metric_group group, const struct figures *figures);
/* Writes the members of METRIC_OPENS from the counters of one epoch. */
void metrics_write_epoch(struct json *json, const uint64_t row[STK_COUNT_KINDS]);
/* Writes the members of a group as an object of this name. */
void metrics_write_object(struct json *json, const char *name, enum metric_group group,
                          const struct figures *figures);
