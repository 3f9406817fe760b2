/*
 * Makes an entry, of a file or of a listing: takes room in the budget of the first tier that has
 * some and does not fail, fills a draft, and renames it to its place. The record's claim says how
 * that ended. If no tier had room the claim is a refusal, which holds until one of them may have
 * more. Safe in threads, after fork and in signal handlers; no heap.
 */
#pragma once

#include "cache/cache_core.h"
#include "cache/cache_place.h"
#include "cache/catalogue/claim.h"
#include "cache/entry/draft.h"

/* One entry that is being made. */
struct stk_entry_build {
    const struct stk_cache *cache;
    const struct stk_place *place;   /* of the file or directory */
    uint64_t name;                   /* of its version */
    uint64_t bytes;                  /* its length */
    const struct stk_tier *tier;     /* the current tier; in the end the entry's */
    char *path;                      /* its path there, of STK_PATH_BYTES */
    int64_t blocks;                  /* reserved */
    uint64_t ino;                    /* of the entry, once it is made */
    bool taken;                      /* not made: an entry is there */
    struct stk_transient *transient; /* the slot of a transient entry; NULL: the entry is to stay */
    bool copied;                     /* copied from the origin: a transient entry is published */
};

/* Goes on to the next tier, or to the first from NULL, in which the entry has a path. Returns false
 * if there is none. */
bool stk_entry_build_next_tier(struct stk_entry_build *build);

/* Returns the reason for which a call on a tier failed with this error; NONE for 0. Limits of the
 * process are not TIER, which says to all processes that the tier is full. */
enum stk_bypass stk_entry_build_why(int error);

/* Writes the whole draft. Returns NONE, or the reason against it; TIER if the tier did not take it.
 * Called once for each tier with room, until one has taken the entry. */
typedef enum stk_bypass stk_entry_build_write(void *context, const struct stk_entry_draft *draft);
/* Makes the entry and keeps the budget that it takes. Returns NONE, or the reason against it; TIER
 * also if an entry is there, which ends the build. */
enum stk_bypass stk_entry_build_make(struct stk_entry_build *build, stk_entry_build_write *write,
                                     void *context);

/* Removes what was found in the entry's place. It was counted when the tier was set up, or reserved
 * by a filler that was killed since. */
void stk_entry_build_way(const struct stk_tier *tier, const char *path, int64_t blocks);

/* Ends this process's claim with the result. */
void stk_entry_build_finish(const struct stk_entry_build *build, _Atomic uint64_t *claim,
                            enum stk_bypass why);
/* Returns why there was no room in these very tiers, if that still holds, else NONE. A refusal for
 * want of memory holds only for the same control group. */
enum stk_bypass stk_entry_build_refusal(const struct stk_cache *cache, struct stk_claim claim);
