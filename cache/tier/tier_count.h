/*
 * The count of one tier's blocks and inodes, in this catalogue and in the ledger that all
 * catalogues share (cache/tier/ledger.h). Lock-free but for the ledger; no heap; safe in threads,
 * after fork and in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/catalogue.h"

/* Returns the path_hash of a tier with this home; never 0. */
uint64_t stk_tier_hash(const char *home);

/*
 * Take blocks and inodes from the tier for this catalogue, and give them back. The catalogue counts
 * its own use exactly, and announces to the others (cache/tier/ledger.h) a 64th of the budget
 * ahead; any number of catalogues together never exceed a budget. stk_tier_take returns 0, -EDQUOT
 * if the budget has no room, or the -errno of the ledger: the room is not known then. stk_tier_free
 * is for a removed entry: whichever process unlinks an entry gives back what it took.
 */
int stk_tier_take(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes);
void stk_tier_release(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes);
void stk_tier_free(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes);

/* Announces what this catalogue holds and, unless `exactly`, what it will take next. Returns 0 or
 * -errno. */
int stk_tier_announce(struct stk_tier_shared *tier, bool exactly);

/*
 * Count anew what the tier holds, while other processes may fill. The count is moved into bounds:
 * what the walk finds, plus or minus what was announced meanwhile. Return 0, or -errno of
 * stk_ledger_walk.
 */
struct stk_recount {
    int64_t ever_announced_blocks, ever_announced_inodes;
};
int stk_tier_recount_begin(struct stk_tier_shared *tier, struct stk_recount *recount);
int stk_tier_recount_end(struct stk_tier_shared *tier, const struct stk_recount *recount,
                         const atomic_bool *stop);
