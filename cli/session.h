/*
 * Beginning and ending runs: what is left over, what is removed. Every step that decides about
 * others (cli/live.h) is made under HOME/lock.
 */
#ifndef STK_CLI_SESSION_H
#define STK_CLI_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tally.h"
#include "cache/catalogue.h"
#include "cache/run.h"
#include "cache/tier.h"
#include "cli/ahead.h"
#include "cli/finisher.h"
#include "cli/request.h"
#include "cli/samples.h"

struct session {
    char home[STK_HOME_BYTES]; /* of the catalogue */
    struct stk_catalogue catalogue;
    /* In the order in which they are filled; behind the last one `shared` is NULL. */
    union {
        struct stk_tier tier; /* the first, where samples lie */
        struct stk_tier tiers[STK_TIERS];
    };
    unsigned tier_count;
    bool shared; /* one of them, with the group */
    struct stk_run run;
    struct stk_tally *tally; /* of decoded images, or NULL */
    struct samples samples;
    char made_tiers[STK_TIERS][STK_HOME_BYTES]; /* homes that were not there before */
    unsigned made_count;
    bool recounts[STK_TIERS]; /* these tiers are to be counted anew, beside the job */
    struct stk_recount recount[STK_TIERS];
    int run_lock;               /* keeps the run alive */
    uint64_t given_back_bytes;  /* of entries, while memory was short */
    struct ahead_figures ahead; /* what --warm came to */
    struct finisher_figures finished;
};

/*
 * Begins a run: removes what dead runs left, attaches catalogue and tiers, makes the run's file.
 * A failure leaves nothing behind. A wrong argument ends in one line and status 2. If this node
 * lacks something that the cache needs, a line says so (cli/refusal.h). The function then leaves
 * tiers out of the request, or returns false, and the command runs uncached.
 */
bool session_begin(struct session *session, struct request *request);
/* Ends it. If it was the last one and nothing is to be kept, what lies in memory is removed. */
void session_end(struct session *session);

/* The same of one in which nothing was done: what was made for it goes. */
void session_undo(struct session *session);

/* The end of a guest's home (cli/guests.h): removed, kept by the user, or still in use. */
enum session_guest { SESSION_GUEST_GONE, SESSION_GUEST_KEPT, SESSION_GUEST_USED };
/* Removes a guest's home with the user's entries in memory, if it was kept for root's run alone and
 * no process uses it. If a run of the user's own uses it, it goes with that run. Call it in a
 * process of that user. */
enum session_guest session_end_guest(const char *home);

/* Opens what is there without beginning a run, for ls and clear. False: nothing is. */
bool session_look(struct session *session);
/* Removes the leftovers of dead runs; true if there were any. */
bool session_sweep(void);

/* What removing came to. */
struct session_removal {
    unsigned live;   /* runs that use it: nothing is removed then */
    bool used;       /* programs outside of any run use it: nothing, either */
    unsigned homes;  /* that are gone */
    unsigned failed; /* that could not be removed whole */
};
/* Removes everything in memory and in the tiers that are known, or the tier in directory `only`,
 * unless it is in use. */
struct session_removal session_remove_all(const char *only);

#endif
