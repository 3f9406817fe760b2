/* What a tier holds. See cli/holding.h. */
#include "cli/holding.h"

#include "cache/grant.h"
#include "cli/say.h"

/* The catalogue may be damaged: nothing is below 0. */
static uint64_t bytes_of(int64_t blocks)
{
    return blocks > 0 ? (uint64_t)blocks * STK_BLOCK_BYTES : 0;
}

struct holding holding_of(const struct stk_tier *tier)
{
    if (tier->shared == NULL) {
        return (struct holding){0};
    }
    int64_t aside = stk_grant_aside_blocks(tier);
    int64_t used = atomic_load(&tier->shared->budget.used_blocks) - aside;
    int64_t samples = stk_grant_used_blocks(tier);
    return (struct holding){bytes_of(used), bytes_of(aside),
                            bytes_of(samples < used ? samples : used)};
}

char *holding_text(const struct stk_tier *tier)
{
    char used[STK_SIZE_TEXT], allowed[STK_SIZE_TEXT], aside[STK_SIZE_TEXT];
    struct holding holding = holding_of(tier);
    int64_t whole = tier->shared != NULL ? tier->shared->budget.blocks : 0;
    return must_format("%s of %s used%s%s%s", size_text(used, holding.used_bytes),
                       size_text(allowed, bytes_of(whole)), holding.aside_bytes > 0 ? ", " : "",
                       holding.aside_bytes > 0 ? size_text(aside, holding.aside_bytes) : "",
                       holding.aside_bytes > 0 ? " set aside for samples" : "");
}
