/* Puts identities into the catalogue: a new version gets a new record. */
#pragma once

#include "cache/cache_core.h"
#include "cache/cache_place.h"
#include "cache/catalogue/claim.h"

/*
 * Returns the number of the current record of this place with exactly this identity. It is found,
 * or made (absent, not validated) in the place of an older version. Returns 0 if the catalogue has
 * no room, or if the file is on another device than its root and has changed or cannot be named by
 * its place. Lock-free, no heap; safe in threads, after fork and in signal handlers.
 */
uint32_t stk_versions_remember(struct stk_cache *cache, const struct stk_place *place,
                               const struct stk_identity *identity);
