/*
 * One process's view of the cache, which the folders above this one work on: the catalogue, the
 * tiers, the covered roots and the run. cache/cache.h is what programs include.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "cache/catalogue/catalogue.h"
#include "cache/catalogue/changes.h"
#include "cache/origin/root.h"
#include "cache/run/notice.h"
#include "cache/run/run.h"
#include "cache/tier/tier.h"

struct stk_cache {
    struct stk_options options;
    struct stk_roots roots;
    struct stk_roots outer;     /* of the runs around this one: never served, but changes count */
    struct stk_notices notices; /* to runs whose catalogue this process cannot join */
    struct stk_catalogue catalogue; /* header NULL: nothing is served */
    /* In the order in which they are filled; behind the last one `shared` is NULL. */
    union {
        struct stk_tier tier; /* the first; shared NULL: nothing is filled */
        struct stk_tier tiers[STK_TIERS];
    };
    struct stk_run run;
    int64_t run_start_ns;
    bool makes_transient; /* files without room may get transient entries (cache/run/transient.h) */
};

/* Returns the tier behind this one, or NULL if this one is the last. Returns the first tier for
 * NULL. */
static inline const struct stk_tier *stk_cache_next_tier(const struct stk_cache *cache,
                                                         const struct stk_tier *tier)
{
    const struct stk_tier *next = tier == NULL ? cache->tiers : tier + 1;
    return next < cache->tiers + STK_TIERS && next->shared != NULL ? next : NULL;
}

/* Sets up a process's view from parsed options and spelled roots, whose text must stay. One thread
 * calls it once in a process. Always succeeds: without a tmpfs or a tier less is served. The cache
 * may live in memory that is zero except for `outer`, which may hold spelled roots. */
void stk_cache_open(struct stk_cache *cache, const struct stk_options *options,
                    const struct stk_roots *spelling);
