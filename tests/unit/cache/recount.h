/* Counts anew what a tier holds. The caller fills nothing meanwhile. */
#pragma once

#include "cache/tier/tier.h"
#include "cache/tier/tier_count.h"

static inline int unit_recount(struct stk_tier *tier)
{
    struct stk_recount recount = {0, 0};
    int error = stk_tier_recount_begin(tier->shared, &recount);
    return error == 0 ? stk_tier_recount_end(tier->shared, &recount, NULL) : error;
}
