/* The names in one directory of a shared tier, listed at once: a search for many entries asks the
 * server once. For one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tiers/shared_tier.h"

struct shared_tier_names {
    size_t count, room;
    uint64_t *hashes; /* sorted; on the heap */
};

/* Lists a directory of entries of this user's home there; `directory` is its path below a tier's
 * tree. A missing one has no names. Returns 0 or -errno. The caller frees `out` in each case. May
 * block. */
int shared_tier_names_list(const struct shared_tier *shared, const char *directory,
                           struct shared_tier_names *out);
/* Returns true if the name was listed. Another name may have the same hash, one in 2^64. */
bool shared_tier_names_have(const struct shared_tier_names *names, const char *name);
void shared_tier_names_free(struct shared_tier_names *names);
