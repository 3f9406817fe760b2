/* Putting identities into the catalogue: a new record for a new version, else the one there is. */
#ifndef STK_CACHE_REMEMBER_H
#define STK_CACHE_REMEMBER_H

#include "cache/cache.h"
#include "cache/claim.h"

/*
 * The number of the current record of this place with exactly this identity: found, or
 * made (absent, untrusted) in the place of an older version. 0: no room in the catalogue, or the
 * file is on another device than its root and has changed or cannot be told by its place.
 * Lock-free, no heap, safe everywhere.
 */
uint32_t stk_remember(struct stk_cache *cache, const struct stk_place *place,
                      const struct stk_identity *identity);

#endif
