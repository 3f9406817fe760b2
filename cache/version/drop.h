/*
 * Removes entries. That is always safe on a local tier: a process that has an entry open keeps
 * reading. The record forgets the entry first, so that its inode number, which the file system will
 * use again, is never taken for it. Lock-free, no heap; safe in threads, after fork and in signal
 * handlers.
 */
#pragma once

#include "cache/cache_core.h"
#include "cache/cache_place.h"

/* Unlinks the entry of a present record, gives its budget back, and marks the record absent. If
 * another process has unlinked the entry, that process gives the budget back. */
void stk_drop_entry(struct stk_cache *cache, uint32_t record, const char *entry);
/*
 * Drops the entry of a file of which the sample store keeps a form, if the store wants more room:
 * what the entry took is the store's from then on (cache/tier/sample_quota.h). Returns false if no
 * quota wants it, the entry is not in a tier in memory, or there is nothing to drop.
 */
bool stk_drop_for_samples(struct stk_cache *cache, uint32_t record, const char *entry);
/* Returns true if stk_drop_for_samples would drop the entry, as far as a cheap check shows. */
bool stk_drop_is_wanted(struct stk_cache *cache, uint32_t record);
/* Drops a transient entry (cache/run/transient.h), but leaves what it took to the caller. Returns
 * how many blocks are to be given back, with an inode, when no process has the entry open any more;
 * 0: nothing. */
int64_t stk_drop_transient(struct stk_catalogue *catalogue, uint32_t record, const char *entry);
/* Drops the entry of a superseded version of this place. */
void stk_drop_version(struct stk_cache *cache, const struct stk_place *place, uint32_t record);
/* Marks a present record absent, and leaves the entry for another record to adopt. */
void stk_drop_claim(struct stk_record *record);
