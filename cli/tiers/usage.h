/* How much of a tier is used, as users see it. Room that is only reserved for the sample store's
 * growth does not count (cache/tier/sample_quota.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cache/tier/tier.h"
#include "cli/out/json.h"

struct usage {
    uint64_t used_bytes, aside_bytes;
    uint64_t samples_bytes; /* part of the used ones: this namespace's sample store */
    int64_t budget_bytes, budget_inodes, used_inodes;
};

/* One figure of a tier: its name in JSON, and behind "stoker_tier_" in Prometheus's text, with its
 * meaning. `place` is that of a member of struct usage, which has 64 bits. */
struct usage_figure {
    const char *name, *help;
    size_t place;
};

#define USAGE_FIGURES 6
extern const struct usage_figure usage_table[USAGE_FIGURES];

int64_t usage_read(const struct usage *usage, const struct usage_figure *figure);

/* Returns zeros for a tier that is not attached. Walks the sample stores, which are a few files
 * each. */
struct usage usage_of(const struct stk_tier *tier);
/* Returns "40.1 MiB of 1.2 GiB used, 18.8 MiB set aside for decoded copies". The caller frees. */
char *usage_text(const struct stk_tier *tier);
/* Returns ", and some 1.1 GiB of the kernel's for the files": memory for each file of a tier in
 * memory, which no budget counts. Returns "" for a tier on a disk, and where that is less than a
 * sixteenth of what is used. It is an estimate. The caller frees. */
char *usage_kernel_text(const struct stk_tier *tier);
/* Writes the tier's path, budget and use as members. */
void usage_write_json(struct json *json, const struct stk_tier *tier);
