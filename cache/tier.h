/*
 * A tier: a directory on a local file system that holds entries, with a budget. Tiers are listed in
 * the catalogue's header, so that all processes count against one budget.
 *
 * Errors of attaching are -errno, each with one meaning for the command's message: those of
 * cache/home.h; -EMEDIUMTYPE the file system is not a local one; -ENOSPC no room for even one file;
 * -EUSERS too many tiers; -EAGAIN another process takes too long to set it up.
 *
 * A wanted budget above the tier's capacity is ignored, and the budget is computed. The capacity is
 * the file system's size, less what the job keeps of its shared memory. For a tmpfs it is at most
 * the memory of the machine or the control group. The caller compares the two budgets to tell the
 * user. Safe in threads, after fork and in signal handlers; no heap.
 */
#ifndef STK_CACHE_TIER_H
#define STK_CACHE_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue.h"
#include "cache/account.h"
#include "cache/home.h"

#define STK_TIER_DEFAULT_BUDGET (-1)

/* One process's view of a tier. */
struct stk_tier {
    struct stk_tier_shared *shared; /* NULL: none */
    unsigned index;                 /* in the catalogue's list */
    uint64_t dev;
    bool guarded; /* a command watches over this process's memory */
    char home[STK_HOME_BYTES];
};

/* The first tier of a STOKER_TIERS list, and moves on to the next: its directory, and its budget or
 * STK_TIER_DEFAULT_BUDGET. 0, -EINVAL (no directory, or a size that is none), -ENAMETOOLONG. */
int stk_tier_parse(const char **list, char dir[STK_HOME_BYTES], int64_t *budget_bytes);

/*
 * Finds the tier at `dir` in the catalogue, or adds it, with what is used counted and the budget
 * given or computed. A tier that is there already keeps its budget. One that cannot be set up, or
 * that another process is setting up for too long, is none (out->shared stays as it was): its
 * device is not known yet, by which descriptors of entries are told from others.
 */
int stk_tier_attach(struct stk_catalogue *catalogue, const char *dir, int64_t budget_bytes,
                    struct stk_tier *out);

/*
 * Computes the budget that a tier at `dir`, which no catalogue knows, would have if it were
 * attached. Makes nothing. Files in the tier's home count as used: the function walks them for
 * `limit_ns` at most (0: to the end). After that limit all that the file system holds counts as
 * used. Returns 0, or -errno as attaching does.
 */
int stk_tier_foresee(const char *dir, int64_t budget_bytes, int64_t limit_ns,
                     struct stk_tier_shared *out);

/* Sets the budget: given, or computed from what the file system and the memory leave now. Returns
 * 0, -ENOSPC, or the file system's -errno. */
int stk_tier_set_budget(struct stk_tier *tier, int64_t budget_bytes);

/*
 * The tier with this number that some run has added, e.g. to serve what another run filled. False
 * also when the catalogue is damaged there: the command removes what it finds in a tier's home, so
 * a home must be the one that was attached, to the last byte.
 */
bool stk_tier_by_index(struct stk_catalogue *catalogue, unsigned index, struct stk_tier *out);

/* What a tier's path_hash is for this home; never 0. */
uint64_t stk_tier_hash(const char *home);

/*
 * What this catalogue takes of the tier, and gives back. It counts exactly for itself, and
 * announces to the others (cache/account.h) a 64th of the budget ahead; a budget is never exceeded
 * by any number of catalogues together. `free` is for what an entry took that is gone: who unlinks
 * gives back.
 */
enum stk_took { STK_TOOK, STK_TOOK_NO_ROOM, STK_TOOK_NOT_NOW };
enum stk_took stk_tier_take(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes);
void stk_tier_release(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes);
void stk_tier_free(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes);

/* Announces what is held, and what will be taken next unless `exactly`. 0 or -errno. */
int stk_tier_announce(struct stk_tier_shared *tier, bool exactly);

/*
 * Counts anew what the tier holds, while others may fill: what is found, give or take what was
 * announced meanwhile, are the bounds within which the count is moved. 0, or -errno of
 * stk_account_walk.
 */
struct stk_recount {
    int64_t ever_announced_blocks, ever_announced_inodes;
};
int stk_tier_recount_begin(struct stk_tier_shared *tier, struct stk_recount *recount);
int stk_tier_recount_end(struct stk_tier_shared *tier, const struct stk_recount *recount,
                         const atomic_bool *stop);
/* Both. */
int stk_tier_recount(struct stk_tier *tier);

#endif
