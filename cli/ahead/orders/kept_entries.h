/*
 * Makes of a data set's entries (sample_entries.h) what is kept for the next run (kept_samples.h),
 * and takes it over there.
 *
 * The caller holds a lock for all of it.
 */
#pragma once

#include <stdint.h>

#include "cli/ahead/orders/sample_entries.h"

/* Takes over what an earlier run has kept of a data set, if it is sound and there is memory for it.
 * `entries` must be empty. */
void kept_entries_recall(uint64_t dataset, struct sample_entries *entries);
/* Keeps the entries, of which there is at least one. If there is no memory for that, what an
 * earlier run has kept stays. */
void kept_entries_keep(uint64_t dataset, const struct sample_entries *entries);
