#include "cli/tiers/usage.h"

#include "cache/tier/sample_quota.h"
#include "cli/out/say.h"

/* Returns bytes, never below 0: the catalogue may be damaged. */
static uint64_t bytes_of(int64_t blocks)
{
    return blocks > 0 ? (uint64_t)blocks * STK_BLOCK_BYTES : 0;
}

struct usage usage_of(const struct stk_tier *tier)
{
    if (tier->shared == NULL) {
        return (struct usage){0};
    }
    int64_t aside = stk_sample_quota_unused_blocks(tier);
    int64_t used = atomic_load(&tier->shared->budget.used_blocks) - aside;
    int64_t samples = stk_sample_quota_used_blocks(tier);
    return (struct usage){bytes_of(used), bytes_of(aside),
                          bytes_of(samples < used ? samples : used)};
}

char *usage_text(const struct stk_tier *tier)
{
    char used[STK_SIZE_TEXT], allowed[STK_SIZE_TEXT], aside[STK_SIZE_TEXT];
    struct usage usage = usage_of(tier);
    int64_t whole = tier->shared != NULL ? tier->shared->budget.blocks : 0;
    return must_format("%s of %s used%s%s%s", size_text(used, usage.used_bytes),
                       size_text(allowed, bytes_of(whole)), usage.aside_bytes > 0 ? ", " : "",
                       usage.aside_bytes > 0 ? size_text(aside, usage.aside_bytes) : "",
                       usage.aside_bytes > 0 ? " set aside for decoded copies" : "");
}

void usage_write_json(struct json *json, const struct stk_tier *tier)
{
    static const struct stk_budget none;
    const struct stk_budget *budget = tier->shared != NULL ? &tier->shared->budget : &none;
    const struct usage usage = usage_of(tier);
    json_text(json, "path", tier->home);
    json_integer(json, "budget_bytes", budget->blocks * STK_BLOCK_BYTES);
    json_integer(json, "budget_inodes", budget->inodes);
    json_count(json, "used_bytes", usage.used_bytes);
    json_count(json, "set_aside_bytes", usage.aside_bytes);
    json_integer(json, "used_inodes", budget->used_inodes);
}
