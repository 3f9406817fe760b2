/*
 * The state of a fill. fill.c decides and counts; copy.c copies the bytes chunk by chunk, and
 * advances the claim at each; fetch.c has a shared tier copy them. Safe in threads, after fork and
 * in signal handlers; no heap.
 */
#pragma once

#include <sys/stat.h>

#include "cache/cache_core.h"
#include "cache/cache_place.h"
#include "cache/entry/draft.h"
#include "cache/origin/reader.h"
#include "cache/version/entry_build.h"

/* The state of one fill. */
struct stk_fill {
    struct stk_cache *cache;
    const struct stk_place *place;
    struct stk_record *record;
    uint32_t number; /* of the record */
    const struct stk_identity *identity;
    struct stk_origin origin;
    int64_t opened_ns;            /* a time before the origin was opened */
    struct stk_entry_build build; /* its tier and path are the current entry's */
    /* The slot of its later revalidation, or NULL. */
    struct stk_revalidation_queue_slot *queued;
    bool unopened;            /* there is no descriptor of the origin */
    bool is_begun;            /* this process reads the origin */
    bool unread;              /* no page of it was in memory before the fill */
    uint64_t check;           /* of the copied bytes: cache/entry/checksum.h */
    bool fetched;             /* by a shared tier */
    int64_t shared_waited_ns; /* for a shared tier */
    bool damaged;             /* the shared tier has it with wrong bytes */
};

/* Copies the origin, which must be exactly as long as its identity says, into the draft. Returns
 * NONE, or the reason against it. */
enum stk_bypass stk_fill_copy(struct stk_fill *fill, const struct stk_entry_draft *draft);

/* Returns true if `fd`, opened by the entry's name, has the bytes of the entry. Sets `stat` if the
 * file has one. */
bool stk_fill_is_whole(const struct stk_fill *fill, int fd, struct stat *stat);

/* ---- by a shared tier: cache/run/shared_request.h ---- */

/* Returns true if the shared tier has this version, or is likely to have it. Waits for an answer,
 * until a deadline. */
bool stk_fill_is_shared(struct stk_fill *fill);
/* Has the shared tier copy the file into the draft. After false the draft is to be given up: the
 * helper may still be writing to it. */
bool stk_fill_fetch(struct stk_fill *fill, const struct stk_entry_draft *draft);
/* Returns true if the file may become a transient entry as soon as there is room: the room of some
 * tier is large enough. */
bool stk_fill_may_be_transient(const struct stk_fill *fill);
/* Begins the fill once more, as a transient entry (cache/run/transient.h). Returns false if there
 * are too many. */
bool stk_fill_begin_transient(struct stk_fill *fill);
/* Gives the transient entry's slot back: the entry was not made. */
void stk_fill_end_transient(struct stk_fill *fill);
/* Queues the entry for the shared tier unless it came from there. An entry that lay here need not
 * be in the shared tier. If the origin changed while it was copied, the entry has a name that no
 * later look at the origin gives. */
void stk_fill_publish(struct stk_fill *fill);
