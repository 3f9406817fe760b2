/*
 * Freshness. One invariant: what is served was found by a look at the origin that began after the
 * last known change of the file, by any name, and after the run began. A record says when the last
 * such look began (validated_ns); cache/changes.h says when the file last changed. A look at a path
 * begins before the question is sent; one at an open file began before the file was opened, since a
 * descriptor says of a path what was true then.
 *
 * A record's time that is later than now is not believed, and the next look replaces it.
 *
 * STOKER_FRESH=never does without the run's beginning, STOKER_FRESH=open believes no look but that
 * of this open. Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_TRUST_H
#define STK_CACHE_TRUST_H

#include "cache/cache.h"
#include "cache/claim.h"

enum stk_trust {
    STK_TRUST_YES,    /* serve it */
    STK_TRUST_ASK,    /* the origin is to be asked first */
    STK_TRUST_WRITTEN /* opened for writing in this run: it is the origin's, whatever that says */
};

/* Returns a record's trust after the noted changes of its file and of everything
 * (cache/changes.h). */
enum stk_trust stk_trust_of(struct stk_cache *cache, const struct stk_record *record);
/* Whether it would be served once the origin was asked now, and had nothing new to say. */
bool stk_trust_would(struct stk_cache *cache, const struct stk_record *record);
/* The same of a place that has no record. */
bool stk_trust_is_written(struct stk_cache *cache, const struct stk_place *place);
/* Whether an inode was opened for writing in this run. */
bool stk_trust_is_inode_written(struct stk_cache *cache, uint64_t dev, uint64_t ino);

/* Whether nothing is known to have changed it since the last look, whichever run that was in. */
bool stk_trust_is_unmarked(struct stk_cache *cache, const struct stk_record *record);
/* The same by its path and inode only. */
bool stk_trust_is_untouched(struct stk_cache *cache, const struct stk_record *record);

/* Whether somebody may still be writing this version: too young for its time stamps to tell. */
bool stk_trust_is_young(const struct stk_cache *cache, const struct stk_identity *identity);

/* Notes a look at the origin that began at `asked_ns` and found the version of this record. */
void stk_trust_note(const struct stk_cache *cache, struct stk_record *record,
                    const struct stk_identity *identity, int64_t asked_ns);

/* What the origin says of a place, past its client's caches. */
struct stk_look {
    struct statx answer; /* of the file; of the link itself, if only that was asked for */
    enum stk_leaf leaf;
    int64_t asked_ns; /* when it began */
};
/* Asks it. 0, or -errno as the kernel said. */
int stk_trust_look(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                   struct stk_look *look);
/* The same of a place of which nothing is known, without learning more of a directory than a stat
 * of the program's own would: asked_ns is 0 then, and it vouches for nothing. */
int stk_trust_look_first(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                         struct stk_look *look);
/*
 * Remembers what a look has found: the record is then current and trusted. Its number, or 0
 * (not a regular file, too young to be trusted, no room).
 */
uint32_t stk_trust_remember(struct stk_cache *cache, const struct stk_place *place,
                            const struct stk_look *look);
/* What is to be done with a version that is too young: it is not remembered, or a file that grows
 * would have a record of each size, for ever; but an older one is not believed any more. */
void stk_trust_forget(struct stk_cache *cache, const struct stk_place *place,
                      const struct stk_identity *identity);
/* Looks and remembers. */
uint32_t stk_trust_validate(struct stk_cache *cache, const struct stk_place *place);

/* Looks at an open file as far as this client knows it, without asking a server: false if it is not
 * the version of this record any more. It is to be validated later; until then only fstat of its
 * entry is answered from the record. */
bool stk_trust_defer_fd(struct stk_record *record, int origin_fd, int64_t opened_ns);

/* It is to be validated later: what was open as it was had been opened, or read, since then. */
void stk_trust_defer(struct stk_record *record, int64_t opened_ns);

/* Looks at an open file: true if it still is the version of this record. `opened_ns`: before it was
 * opened. */
bool stk_trust_validate_fd(struct stk_cache *cache, struct stk_record *record, int origin_fd,
                           int64_t opened_ns);

#endif
