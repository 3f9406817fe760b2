/*
 * The quota of sample stores in a tier's budget. Stores lie in the tier's home, HOME/samples, one
 * for each pid namespace. Processes that know nothing of budgets write them: the command reserves
 * blocks for them beforehand, and announces how many in the tally (base/tally.h). So entries and
 * samples together never exceed the budget.
 *
 * All runs of a namespace share its quota. While any process works in the tier, a quota only grows.
 * When none does, its use is counted anew. Lock-free.
 */
#pragma once

#include "cache/catalogue/catalogue.h"
#include "cache/tier/tier.h"

/*
 * Returns the quota of this process's namespace, or NULL if all places are taken. A new quota holds
 * what its store takes already, and the budget counts that too. One process calls this at a time.
 */
struct stk_sample_quota *stk_sample_quota_find(struct stk_tier *tier);
/* Returns how many blocks this process's store takes in the tier now. */
int64_t stk_sample_quota_used_blocks(const struct stk_tier *tier);
/* Returns the part of all quotas in the tier that no store uses yet: the budget counts it as used,
 * and it holds nothing. At most what the budget counts as used. */
int64_t stk_sample_quota_unused_blocks(const struct stk_tier *tier);
/* Reserves so many blocks more, or as many as there are. Returns how many it reserved. */
int64_t stk_sample_quota_raise(struct stk_tier *tier, struct stk_sample_quota *quota,
                               int64_t blocks);
/* Asks entries to give way until the quota has so many blocks more; 0: no more. */
void stk_sample_quota_want(struct stk_sample_quota *quota, int64_t blocks);
/* Returns the quota of this process's namespace if it wants more, or NULL. Cheap where no quota
 * wants more. */
struct stk_sample_quota *stk_sample_quota_find_wanting(const struct stk_tier *tier);
/* Adds to the quota what a removed entry took: the budget counts it already. */
void stk_sample_quota_add(struct stk_tier *tier, struct stk_sample_quota *quota, int64_t blocks);
/* Forgets all quotas, and gives back what they do not use. For a time when no process works in the
 * tier. */
void stk_sample_quota_forget(struct stk_tier *tier);
/* Returns how many blocks a quota grows by at a time. */
int64_t stk_sample_quota_step_blocks(const struct stk_tier *tier);
