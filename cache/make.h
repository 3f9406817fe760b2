/*
 * Making an entry, of a file or of a listing: room for it in the budget of the first tier that has
 * some and does not fail, a draft, its place. What becomes of that is said in its record's claim,
 * as a refusal where no tier had room: it holds until one of them may have more. Safe in threads,
 * after fork and in signal handlers; no heap.
 */
#ifndef STK_CACHE_MAKE_H
#define STK_CACHE_MAKE_H

#include "cache/cache.h"
#include "cache/claim.h"
#include "cache/entry.h"

/* One entry in the making. */
struct stk_making {
    const struct stk_cache *cache;
    const struct stk_place *place;     /* of what */
    uint64_t name;                     /* its version */
    uint64_t bytes;                    /* how long it shall be */
    const struct stk_tier *tier;       /* the tier at hand, where it lies once it is made */
    char *path;                        /* its path there, of STK_PATH_BYTES */
    int64_t blocks;                    /* reserved */
    uint64_t ino;                      /* of the entry, once it is made */
    bool taken;                        /* not made, since one is there */
    const struct stk_identity *shared; /* the copied file, if a group may get it; or NULL */
    struct stk_passing *passing;       /* the note of one that passes; NULL: it is to stay */
    bool copied;                       /* by the origin: if it passes, to the shared tier */
};

/* Goes on to the next tier, to the first from NULL, in which it has a path. False: there is none.
 */
bool stk_make_next_tier(struct stk_making *making);

/* Writes all of it. NONE, or why not: TIER if the tier did not take it. Once for each tier that has
 * room, until one has taken it. */
typedef enum stk_bypass stk_make_write(void *context, const struct stk_entry_draft *draft);
/* Makes it, and keeps the budget that it takes. NONE, or why not: TIER also if one is there, which
 * ends it. */
enum stk_bypass stk_make_entry(struct stk_making *making, stk_make_write *write, void *context);

/* Removes what was found in its place. It was counted when the tier was set up, or reserved by a
 * filler that was killed since. */
void stk_make_way(const struct stk_tier *tier, const char *path, int64_t blocks);

/* Ends this process's claim with what became of it. */
void stk_make_finish(const struct stk_making *making, _Atomic uint64_t *claim, enum stk_bypass why);
/* Why there was no room in these very tiers, if that still holds: for want of memory only to those
 * of the same group. Else NONE. */
enum stk_bypass stk_make_refusal(const struct stk_cache *cache, struct stk_claim claim);

#endif
