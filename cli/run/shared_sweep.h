/*
 * Sweeps: puts into the shared tier what lies in this node's tiers and not there. Fills leave their
 * entries to be put there themselves (cache/run/shared_request.h). A sweep finds what they had no
 * place for, and what earlier runs left: those that were killed, had no time, or had no shared
 * tier. It compares directories, each of which costs the server one listing.
 */
#pragma once

#include "cache/cache_core.h"
#include "cli/tiers/shared_tier.h"

struct shared_sweep {
    struct stk_cache *cache; /* the helper's view: catalogue, run, roots, options */
    const struct shared_tier *shared;
};

/* Sweeps once, and again whenever a fill had no place, until the requests are closed. Blocks as
 * long as the server. For a thread of the shared-tier helper. */
void shared_sweep_run(const struct shared_sweep *sweep);
/* Sweeps for what is still to be found then, and says that no more is added. Blocks likewise. */
void shared_sweep_end(const struct shared_sweep *sweep);
