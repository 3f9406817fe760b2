/*
 * Dropping entries, which is always safe on a local tier: whoever holds one open keeps reading.
 * The record forgets the entry first, so that its inode number, which the file system will use
 * again, is never taken for it. Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_DROP_H
#define STK_CACHE_DROP_H

#include "cache/cache.h"

/* Unlinks the entry of a present record, gives its budget back, and marks the record absent. If
 * somebody else has unlinked it, the budget was theirs to give back. */
void stk_drop_entry(struct stk_cache *cache, uint32_t record, const char *entry);
/*
 * The same where a form of the file is kept in the sample store, and that wants more room: what the
 * entry took is the store's from then on (cache/grant.h). False: nothing wants it, or it is not in
 * a tier that is memory, or is nothing to drop.
 */
bool stk_drop_for_samples(struct stk_cache *cache, uint32_t record, const char *entry);
/* Whether that would do anything, as far as can be told at once. */
bool stk_drop_is_wanted(struct stk_cache *cache, uint32_t record);
/* As stk_drop_entry, of an entry that passes (cache/passing.h), but what it took is the caller's to
 * give back, when nobody has it open any more: so many blocks, and an inode; 0: nothing. */
int64_t stk_drop_passing(struct stk_catalogue *catalogue, uint32_t record, const char *entry);
/* As stk_drop_entry, of the version of this place that has been superseded. */
void stk_drop_version(struct stk_cache *cache, const struct stk_place *place, uint32_t record);
/* Marks a present record absent, but leaves the entry, to be adopted by another record. */
void stk_drop_claim(struct stk_record *record);

#endif
