/* A run that never was. Its counters are made up, so that a test can look at what the command makes
 * of them. */
#pragma once

#include "base/tally.h"
#include "cli/summary/figures.h"

struct made_run {
    struct stk_tier_shared tier; /* on a disk */
    struct session session;
    struct request request; /* covers "/data/my set" */
    struct stk_run_counts counts;
    struct epoch_times times;
    struct figures figures; /* of all the above, after made_figures() */
};
extern struct made_run made;

/* A fixture: a run in which nothing was opened. */
void made_begin(void);
void made_end(void);

/* Adds a pass of ten batches of ten samples with so many workers, of which the job waited for
 * batches so long. */
void made_pass(unsigned number, uint64_t lasted_s, double waited_s, uint64_t workers);
/* Makes the n-th opens of files, n from 0: all that are no hits are fills. */
void made_opens(unsigned epoch, uint64_t opens, uint64_t hits, double waited_s);
void made_tally_s(enum stk_tally_slot slot, double seconds);
/* Works out the figures of a run of 100 s. */
void made_figures(void);
