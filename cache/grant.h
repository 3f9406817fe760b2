/*
 * What sample stores may use of a tier's budget. They lie in the tier's home, HOME/samples, one for
 * each pid namespace, and are written by processes that know nothing of budgets: the command
 * reserves for them beforehand, and tells them how much it is (base/tally.h). So entries and
 * samples together never exceed the budget.
 *
 * A grant is shared by all runs of its namespace. It only grows, until nobody works any more: then
 * what is used is counted anew. Lock-free.
 */
#ifndef STK_CACHE_GRANT_H
#define STK_CACHE_GRANT_H

#include "cache/catalogue.h"
#include "cache/tier.h"

/*
 * The grant of this process's namespace; a new one holds what its store takes already, which the
 * budget counts, too. NULL: all places are taken. Called by one process at a time.
 */
struct stk_grant *stk_grant_find(struct stk_tier *tier);
/* What this process's store in the tier takes now. */
int64_t stk_grant_used_blocks(const struct stk_tier *tier);
/* What is granted in the tier to stores of all namespaces and not used yet: it counts as used in
 * the budget, and holds nothing. Never more than the budget says. */
int64_t stk_grant_aside_blocks(const struct stk_tier *tier);
/* Reserves so many blocks more, or as many as there are. Returns how many it got. */
int64_t stk_grant_raise(struct stk_tier *tier, struct stk_grant *grant, int64_t blocks);
/* Has entries give way until they have left it so many blocks; 0: no more. */
void stk_grant_want(struct stk_grant *grant, int64_t blocks);
/* The grant of this process's namespace that wants more, or NULL, which is quickly said where none
 * does. */
struct stk_grant *stk_grant_find_wanting(const struct stk_tier *tier);
/* Gives it what an entry took that is gone: the budget has it already. */
void stk_grant_leave(struct stk_tier *tier, struct stk_grant *grant, int64_t blocks);
/* Forgets all grants, for a time when nobody works; gives back what is set aside. */
void stk_grant_forget(struct stk_tier *tier);
/* How much is granted at a time. */
int64_t stk_grant_step_blocks(const struct stk_tier *tier);

#endif
