/* The work of the shared-tier helper's process (cli/run/shared_helper.h), from its start to its
 * end. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cache/catalogue/catalogue.h"
#include "cache/origin/root.h"
#include "cache/run/run.h"
#include "cli/tiers/shared_tier.h"

/* The outcome of setting up the shared tier. */
struct shared_helper_setup {
    int error; /* 0 or -errno */
    gid_t gid; /* the group that shares it; 0: none */
    char home[STK_HOME_BYTES];
};

/* Returns true if a server may be the reason for an error of the setup: later it may serve. */
bool shared_helper_tries_again(int error);

/* Sets up the shared tier, writes a struct shared_helper_setup to the descriptor `answer`, and
 * serves requests until the queue is closed. If the server failed, sets up again, with growing
 * pauses. Ends with its parent. */
_Noreturn void shared_helper_work(struct stk_catalogue *catalogue, const struct stk_run *run,
                                  const struct stk_roots *roots, const struct shared_tier *shared,
                                  pid_t parent, int answer);
