/* Begins and ends runs. Each step that decides about other runs
 * (cli/run/live_runs.h) happens under HOME/lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/tally.h"
#include "cache/catalogue/catalogue.h"
#include "cache/run/run.h"
#include "cache/tier/tier.h"
#include "cli/args/request.h"
#include "cli/fill/fill_figures.h"
#include "cli/fill/finisher.h"
#include "cli/run/sample_store.h"

struct session {
    char home[STK_HOME_BYTES]; /* of the catalogue */
    struct stk_catalogue catalogue;
    /* In the order in which they are filled. Behind the last one `shared` is NULL. */
    union {
        struct stk_tier tier; /* the first, which has the samples */
        struct stk_tier tiers[STK_TIERS];
    };
    unsigned tier_count;
    struct stk_run run;
    struct stk_tally *tally; /* of decoded images, or NULL */
    struct samples samples;
    char made_tiers[STK_TIERS][STK_HOME_BYTES]; /* homes that this run created */
    unsigned made_count;
    bool recounts[STK_TIERS]; /* these tiers are to be counted anew, beside the job */
    struct stk_recount recount[STK_TIERS];
    int run_lock;              /* keeps the run alive */
    uint64_t given_back_bytes; /* of entries that were removed while memory was short */
    struct fill_figures ahead; /* the outcome of --warm */
    struct finisher_figures finished;
};

/*
 * Begins a run: removes leftovers of dead runs, attaches catalogue and tiers, creates the run's
 * file. A failure leaves nothing behind. A wrong argument ends the command in one line and with
 * status 2. If this node lacks something that the cache needs, a line says so (cli/args/refusal.h).
 * The function then leaves tiers out of the request, or returns false, and the command runs
 * uncached.
 */
bool session_begin(struct session *session, struct request *request);
/* Returns true if the cache in memory stays when the last run has ended. */
bool session_is_kept(const struct session *session);
/* Ends the run. If it was the last one and nothing is to be kept, removes the cache in memory. */
void session_end(struct session *session);

/* Ends a run in which nothing was done, and removes what was created for it. */
void session_undo(struct session *session);

/* Opens the existing cache without beginning a run, for `ls` and `clear`. Returns false if there is
 * none. */
bool session_look(struct session *session);
