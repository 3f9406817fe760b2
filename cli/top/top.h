/*
 * `stoker top`: what the runs of this user do now. It only looks: what it reads is copied, and it
 * keeps nothing of a run or a catalogue open between two looks. So a run ends as if it had not been
 * looked at. cli/top/collect.c collects; each way of showing has a file of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/run/run.h"
#include "cli/run/session.h"
#include "cli/summary/figures.h"

#define TOP_MOST_RUNS  32
#define TOP_NAME_BYTES 256

enum top_state {
    TOP_LIVE,
    TOP_ORPHANED, /* `stoker run` was killed, and the job goes on */
    TOP_OUTSIDE,  /* all that this user runs without `stoker run` */
    TOP_ENDED     /* its figures are those of the last look */
};

/* One run. Its pointers lead to itself. */
struct top_run {
    char name[TOP_NAME_BYTES]; /* of the run's file */
    enum top_state state;
    struct stk_run_view view;
    struct session session; /* only what follows from counters: the tally, and the tiers */
    struct stk_tier_shared shared[STK_TIERS]; /* the tiers as they were at the look */
    struct figures figures;
};

struct top_look {
    int64_t at_ns;        /* CLOCK_BOOTTIME */
    unsigned count, more; /* runs, and further runs without room here */
    unsigned living;
    struct top_run *runs[TOP_MOST_RUNS];
    struct session session; /* only the tiers */
    struct stk_tier_shared shared[STK_TIERS];
};

/* Looks at all runs and tiers. A run that has ended since `before` (NULL: no earlier look) keeps
 * its figures until another run begins. */
struct top_look *top_look(struct top_look *before);
void top_forget(struct top_look *look);
const char *top_state_name(enum top_state state);

/* Returns the number of the pass that goes on, from 1, of the loader with the most samples; 0:
 * there is none. Passes that are counted together are each taken to be like the first. */
unsigned top_epoch(const struct top_run *run, struct stk_tally_pass *out);

/* Rates of a run between two looks, per second. */
struct top_pace {
    bool known;
    double opens, hits, fills, images, samples, batches;
    double bytes_cache, bytes_origin; /* including those of blocks */
    double waiting;                   /* processes that waited for the origin, on average */
    double starved; /* part of the time that DataLoaders waited for a batch, 0 to 1 */
};
void top_pace(const struct top_run *run, const struct top_look *before, struct top_pace *out);

/* ---- ways of showing it ---- */

/* Returns lines for people, of at most `columns`, and at most `rows` of them (0: no limit). If not
 * all fits, the last line says so. */
#define TOP_MOST_LINES 512
struct top_page {
    unsigned count;
    char *lines[TOP_MOST_LINES];
};
void top_page(struct top_page *page, const struct top_look *now, const struct top_look *before,
              unsigned columns, unsigned rows);
void top_page_free(struct top_page *page);

/* Prints JSON on stdout. */
void top_write_json(const struct top_look *now, const struct top_look *before);
/* Prints Prometheus's text format on stdout. */
void top_write_prometheus(const struct top_look *now);

/* The verb: gets the arguments behind it and returns the exit status. */
int verb_top(char **arguments);
