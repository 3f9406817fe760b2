/*
 * A directory on a local file system that holds entries, with a budget. The catalogue's header
 * lists the tiers, so that all processes count against one budget.
 *
 * Errors of attaching are -errno, each with one meaning for the command's message. Some are those
 * of cache/catalogue/home.h. -EMEDIUMTYPE: the file system is not a local one. -ENOSPC: no room for
 * even one file. -EUSERS: too many tiers. -EAGAIN: another process takes too long to set it up.
 *
 * A wanted budget above the tier's capacity is ignored, and the budget is computed. The capacity is
 * the file system's size, less what the job keeps of its shared memory. For a tmpfs it is at most
 * the memory of the machine or the control group. The caller compares the two budgets to report
 * that to the user. Safe in threads, after fork and in signal handlers; no heap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/catalogue.h"
#include "cache/catalogue/home.h"
#include "cache/tier/tier_count.h"

#define STK_TIER_DEFAULT_BUDGET (-1)

/* One process's view of a tier. */
struct stk_tier {
    struct stk_tier_shared *shared; /* NULL: none */
    unsigned index;                 /* in the catalogue's list */
    uint64_t dev;
    bool guarded; /* a command watches over this process's memory */
    char home[STK_HOME_BYTES];
};

/* Takes the first tier of a STOKER_TIERS list and moves on to the next: its directory, and its
 * budget or STK_TIER_DEFAULT_BUDGET. Returns 0, -EINVAL (no directory, or a bad size), or
 * -ENAMETOOLONG. */
int stk_tier_parse(const char **list, char dir[STK_HOME_BYTES], int64_t *budget_bytes);

/*
 * Finds the tier at `dir` in the catalogue, or adds it: counts what is used, and sets the budget,
 * given or computed. A known tier keeps its budget. A tier that cannot be set up is not attached,
 * and out->shared stays as it was. So is a tier that another process is setting up for too long:
 * its device, by which descriptors of entries are recognised, is not known yet.
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

/* Sets what the tier that pays for the catalogue keeps aside for its growth, by the budgets of all
 * tiers. Attaching does it for a new tier; the caller does it after setting a budget. */
void stk_tier_share_headroom(struct stk_catalogue *catalogue);

/*
 * Finds the tier with this number that any run has added, such as to serve what another run filled.
 * Returns false also if the catalogue is damaged there: the command removes what lies in a tier's
 * home, so the home must be the one that was attached, to the last byte.
 */
bool stk_tier_by_index(struct stk_catalogue *catalogue, unsigned index, struct stk_tier *out);
