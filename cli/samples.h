/*
 * The sample store of a run: it lies in the tier's home, in a part of the tier's budget that is
 * reserved while the run goes on (cache/grant.h), and its processes are told by the run's tally how
 * much that is. A store that the user has named by STOKER_SAMPLES is none of ours.
 */
#ifndef STK_CLI_SAMPLES_H
#define STK_CLI_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tally.h"
#include "cache/grant.h"
#include "cli/request.h"

struct samples {
    char *setting; /* STOKER_SAMPLES for the command; NULL: as the user has set it */
    struct stk_tier *tier;
    struct stk_tally *tally;
    struct stk_grant *grant; /* NULL: the store is not ours, or there is none */
    int64_t most_blocks;     /* INT64_MAX: what entries leave */
    bool at_first_touch;
};

/* Says in the environment's words where the store lies, and reserves what the user has asked for.
 * Under the lock, when the tier's budget is settled. */
void samples_begin(struct samples *samples, const struct request *request, struct stk_tier *tier,
                   struct stk_tally *tally);
/* Grants more when little is left; the first time when a process has asked. Whether it did. */
bool samples_look(struct samples *samples, bool asked);

/* What the processes may use now, and what is used. */
uint64_t samples_budget_bytes(const struct samples *samples);
uint64_t samples_used_bytes(const struct samples *samples);
/* About how long decoding would have taken longer without the store. */
double samples_saved_s(const struct stk_tally *tally);

#endif
