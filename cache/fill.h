/*
 * One fill, as its parts know it: cache/fill.c decides and counts, cache/copy.c goes through the
 * bytes, chunk by chunk, and advances the claim at each; cache/fetch.c has them copied by a shared
 * tier. Safe in threads, after fork and in
 * signal handlers; no heap.
 */
#ifndef STK_CACHE_FILL_H
#define STK_CACHE_FILL_H

#include <sys/stat.h>

#include "cache/cache.h"
#include "cache/entry.h"
#include "cache/make.h"
#include "cache/origin.h"

/* What one fill works on. */
struct stk_fill {
    struct stk_cache *cache;
    const struct stk_place *place;
    struct stk_record *record;
    uint32_t number; /* of the record */
    const struct stk_identity *identity;
    struct stk_origin origin;
    int64_t opened_ns;        /* a time before it was opened */
    struct stk_making making; /* its tier and path are those of the entry at hand */
    /* Its validation, which was put off; NULL: it was not. */
    struct stk_deferred_slot *deferred;
    bool begun;     /* to be read by us */
    bool unread;    /* by anybody, before the fill */
    uint64_t check; /* of what is copied: cache/proof.h */
    bool fetched;   /* by a shared tier */
    bool damaged;   /* it has it there, but not with the right bytes */
};

/* Copies the origin, which must be exactly as long as its identity says, into the draft. NONE, or
 * why not. */
enum stk_bypass stk_fill_copy(struct stk_fill *fill, const struct stk_entry_draft *draft);

/* Whether what is open as `fd`, by the entry's name, has the bytes of the entry; `stat` is
 * set if it can be had. */
bool stk_fill_is_whole(const struct stk_fill *fill, int fd, struct stat *stat);

/* ---- by a shared tier: cache/errand.h ---- */

/* Whether it has this version. Waits for an answer, with a deadline. */
bool stk_fill_is_far(struct stk_fill *fill);
/* Has it copied into the draft. If it was not, the draft is to be given up: somebody may still be
 * writing to it. */
bool stk_fill_fetch(struct stk_fill *fill, const struct stk_entry_draft *draft);
/* Whether it may come as an entry that passes, as soon as there is room: any tier's room for these
 * is large enough. */
bool stk_fill_may_pass(const struct stk_fill *fill);
/* Begins it once more, as an entry that passes (cache/passing.h). False: too many do. */
bool stk_fill_begin_passing(struct stk_fill *fill);
/* It was not made. */
void stk_fill_end_passing(struct stk_fill *fill);
/* Leaves the entry to be put there, if it did not come from there: it was copied, or lay here, and
 * then may be there already. Should the origin have changed while it was copied, it has a name that
 * no look at the origin gives again. */
void stk_fill_publish(struct stk_fill *fill, bool copied);

#endif
