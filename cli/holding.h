/*
 * What a tier holds, as users are told it: what the budget says is used, without what is only set
 * aside for the sample store's growth (cache/grant.h).
 */
#ifndef STK_CLI_HOLDING_H
#define STK_CLI_HOLDING_H

#include <stdint.h>

#include "cache/tier.h"

struct holding {
    uint64_t used_bytes, aside_bytes;
    uint64_t samples_bytes; /* of the used ones, those of this namespace's sample store */
};

/* Nothing of a tier that is not attached. Walks the sample stores, which are a few files each. */
struct holding holding_of(const struct stk_tier *tier);
/* "40.1 MiB of 1.2 GiB used, 18.8 MiB set aside for samples". The caller frees. */
char *holding_text(const struct stk_tier *tier);

#endif
