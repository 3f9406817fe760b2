/*
 * Making an entry, of a file or of a listing: room for it in the tier's budget, a draft, its place.
 * What becomes of that is said in its record's claim, as a refusal where there was no room: it
 * holds until there may be more. Safe in threads, after fork and in signal handlers; no heap.
 */
#ifndef STK_CACHE_MAKE_H
#define STK_CACHE_MAKE_H

#include "cache/claim.h"
#include "cache/entry.h"
#include "cache/run.h"

/* One entry in the making. */
struct stk_making {
    const struct stk_tier *tier;
    const struct stk_root *root;
    const char *path; /* where it shall lie */
    uint64_t bytes;   /* how long it shall be */
    int64_t blocks;   /* reserved */
    uint64_t ino;     /* of the entry, once it is made */
};

/* Writes all of it. NONE, or why not: TIER if the tier did not take it. */
typedef enum stk_bypass stk_make_write(void *context, const struct stk_entry_draft *draft);
/* Makes it, and keeps the budget that it takes. NONE, or why not: TIER also if one is there. */
enum stk_bypass stk_make_entry(struct stk_making *making, stk_make_write *write, void *context);

/* Removes what was found in its place. It was counted when the tier was set up, or reserved by a
 * filler that was killed since. */
void stk_make_way(const struct stk_tier *tier, const char *path, int64_t blocks);

/* Ends this process's claim with what became of it. */
void stk_make_finish(const struct stk_tier *tier, _Atomic uint64_t *claim, enum stk_bypass why);
/* Why there was no room in this tier, if that still holds: for want of memory only to those of the
 * same group. Else NONE. */
enum stk_bypass stk_make_refusal(const struct stk_tier *tier, struct stk_claim claim);

#endif
