/*
 * A tier: a directory on a local file system that holds entries, with a budget. Tiers are listed in
 * the catalogue's header, so that all processes count against one budget.
 *
 * Errors of attaching are -errno, each with one meaning for the command's message: those of
 * cache/home.h; -EMEDIUMTYPE the file system is not a local one; -ENOSPC no room for even one file;
 * -ERANGE the wanted budget is larger than the file system; -EMFILE too many tiers;
 * -EAGAIN another process takes too long to set it up.
 * Safe in threads, after fork and in signal handlers; no heap.
 */
#ifndef STK_CACHE_TIER_H
#define STK_CACHE_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue.h"
#include "cache/home.h"

#define STK_TIER_DEFAULT_BUDGET (-1)

/* One process's view of a tier. */
struct stk_tier {
    struct stk_tier_shared *shared; /* NULL: none */
    unsigned index;                 /* in the catalogue's list */
    uint64_t dev;
    char home[STK_HOME_BYTES];
};

/* The first tier of a STOKER_TIERS value: its directory, and its budget or STK_TIER_DEFAULT_BUDGET.
 * 0, -EINVAL (no directory, or a size that is none), -ENAMETOOLONG. */
int stk_tier_parse(const char *value, char dir[STK_HOME_BYTES], int64_t *budget_bytes);

/*
 * Finds the tier at `dir` in the catalogue, or adds it, with what is used counted and the budget
 * given or computed. A tier that is there already keeps its budget. One that cannot be set up, or
 * that another process is setting up for too long, is none (out->shared stays as it was): its
 * device is not known yet, by which descriptors of entries are told from others.
 */
int stk_tier_attach(struct stk_catalogue *catalogue, const char *dir, int64_t budget_bytes,
                    struct stk_tier *out);

/* Sets the budget: given, or computed from what the file system and the memory leave now. */
int stk_tier_set_budget(struct stk_tier *tier, int64_t budget_bytes);

/*
 * The tier with this number that some run has added, e.g. to serve what another run filled. False
 * also when the catalogue is damaged there: the command removes what it finds in a tier's home, so
 * a home must be the one that was attached, to the last byte.
 */
bool stk_tier_by_index(struct stk_catalogue *catalogue, unsigned index, struct stk_tier *out);

/* What a tier's path_hash is for this home; never 0. */
uint64_t stk_tier_hash(const char *home);

/* Counts what `home` really uses, everything included. 0, or -ETIME when `limit_ns` (0: none) ran
 * out first, or -errno. */
int stk_tier_count(const char *home, int64_t limit_ns, int64_t *blocks, int64_t *inodes);

/* Counts again what the tier really uses, for a time when nobody fills. 0 or -errno. */
int stk_tier_recount(struct stk_tier *tier);

#endif
