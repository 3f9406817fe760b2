/*
 * `stoker top`: what the runs of this user do, now. It only looks: what is read is copied, and
 * nothing of a run or a catalogue stays open between two looks, so all of it ends as if nobody had
 * looked. What gathers is cli/top_look.c; each way of showing it has a file of its own.
 */
#ifndef STK_CLI_TOP_H
#define STK_CLI_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/run.h"
#include "cli/session.h"
#include "cli/summary_figures.h"

#define TOP_MOST_RUNS  32
#define TOP_NAME_BYTES 256

enum top_state {
    TOP_LIVE,
    TOP_ORPHANED, /* `stoker run` was killed, and the job goes on */
    TOP_OUTSIDE,  /* all that this user has run without `stoker run` */
    TOP_ENDED     /* what was seen of it last */
};

/* One run; pointers in it lead to itself. */
struct top_run {
    char name[TOP_NAME_BYTES]; /* of its file */
    enum top_state state;
    struct stk_run_view view;
    struct session session; /* of it only what follows from counters: the tally, and the tiers */
    struct stk_tier_shared shared[STK_TIERS]; /* what the tiers were when it was looked at */
    struct figures figures;
};

struct top_look {
    int64_t at_ns;        /* CLOCK_BOOTTIME */
    unsigned count, more; /* runs, and those for which there was no room */
    unsigned living;
    struct top_run *runs[TOP_MOST_RUNS];
    struct session session; /* of it the tiers */
    struct stk_tier_shared shared[STK_TIERS];
};

/* Looks. What was seen of runs that have ended since `before` (NULL: no look) is taken over from
 * it, until another begins. */
struct top_look *top_look(struct top_look *before);
void top_forget(struct top_look *look);
const char *top_state_name(enum top_state state);

/* The pass that is on, of the loader that has given the most, and its number, from 1; 0: there is
 * none. Of those that are counted together each is taken to be like the first. */
unsigned top_epoch(const struct top_run *run, struct stk_tally_pass *out);

/* What a run did between two looks, each second. */
struct top_pace {
    bool known;
    double opens, hits, fills, images, samples, batches;
    double bytes_cache, bytes_origin; /* with those of blocks */
    double waiting;                   /* processes that waited for the origin, on the average */
    double starved; /* the part of the time that DataLoaders waited for a batch, 0 to 1 */
};
void top_pace(const struct top_run *run, const struct top_look *before, struct top_pace *out);

/* ---- ways of showing it ---- */

/* For people: lines of at most `columns`, and at most `rows` of them (0: as many as there are); of
 * what does not fit the last line tells. */
#define TOP_MOST_LINES 512
struct top_page {
    unsigned count;
    char *lines[TOP_MOST_LINES];
};
void top_page(struct top_page *page, const struct top_look *now, const struct top_look *before,
              unsigned columns, unsigned rows);
void top_page_free(struct top_page *page);

/* For programs, on stdout. */
void top_write_json(const struct top_look *now, const struct top_look *before);
/* In Prometheus's text format. */
void top_write_prometheus(const struct top_look *now);

#endif
