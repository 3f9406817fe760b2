/*
 * The sample store of a run. It lies in the tier's home, in a part of the tier's budget that is
 * reserved while the run goes on (cache/tier/sample_quota.h). The job's processes read from the
 * run's tally how large that part is. If the user has named a store by STOKER_DECODED, nothing here
 * applies to it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/tally.h"
#include "cache/tier/sample_quota.h"
#include "cli/args/request.h"

struct samples {
    char *setting; /* STOKER_DECODED for the command; NULL: as the user has set it */
    struct stk_tier *tier;
    struct stk_tally *tally;
    struct stk_sample_quota *quota; /* NULL: the user's own store, or none */
    int64_t most_blocks;            /* INT64_MAX: as much as entries leave */
};

/* Sets `setting` to the place of the store, and reserves the room that the user asked for. Call it
 * under the home's lock, when the tier's budget is settled. */
void samples_begin(struct samples *samples, const struct request *request, struct stk_tier *tier,
                   struct stk_tally *tally);
/* Grants more room when little is left; the first time only when a process has asked. Returns true
 * if it did. */
bool samples_look(struct samples *samples, bool asked);

/* Return the bytes that the processes may use now, and the bytes that they use. */
uint64_t samples_budget_bytes(const struct samples *samples);
uint64_t samples_used_bytes(const struct samples *samples);
/* Returns about how many seconds of decoding the store has saved. */
double samples_saved_s(const struct stk_tally *tally);
