/*
 * Freshness: which records may be believed, and how one is made believable again.
 *
 * A record is trusted when the origin was asked for it after the run began, and after the last time
 * that its root was distrusted. STOKER_FRESH=never trusts every record that was ever validated,
 * STOKER_FRESH=open none. Times are CLOCK_BOOTTIME, taken before the origin is asked.
 * Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_TRUST_H
#define STK_CACHE_TRUST_H

#include "cache/cache.h"

/* Whether a sealed record may be believed without asking. */
bool stk_trust_has(const struct stk_cache *cache, const struct stk_root *root,
                   const struct stk_record *record);
/* The same without regard to when the run began: nothing is known to have changed it. */
bool stk_trust_is_unmarked(const struct stk_cache *cache, const struct stk_root *root,
                           const struct stk_record *record);

/* Whether somebody may still be writing this version: too young for its time stamps to tell. */
bool stk_trust_is_young(const struct stk_cache *cache, const struct stk_identity *identity);

/*
 * Asks the origin for the identity of a place, past its client's caches, and remembers it: the
 * record is then sealed, current and, unless the file is young, trusted. Returns its number, or 0
 * (not a regular file, no such file, no room).
 */
uint32_t stk_trust_validate(struct stk_cache *cache, const struct stk_place *place);

/* The same for an inode, whatever names lead to it. */
void stk_trust_end_inode(struct stk_cache *cache, uint64_t dev, uint64_t ino);
/* Whether a sealed record was validated, and its file not distrusted since. */
bool stk_trust_is_untouched(const struct stk_cache *cache, const struct stk_record *record);

/* As validate, but of an open file: true if it still is the version of this record. */
bool stk_trust_validate_fd(struct stk_cache *cache, struct stk_record *record, int origin_fd);

/* Distrusts the file with this key, and what is being asked of the origin about it just now. */
void stk_trust_end(struct stk_cache *cache, struct stk_hash128 key);

#endif
