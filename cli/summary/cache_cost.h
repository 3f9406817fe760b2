/* The time that a job's processes spent on opening and reading what is cached. It is not measured
 * in the job, where a clock would cost as much as a hit: it is what the same opens and reads take
 * this process in the same tier. */
#pragma once

#include "cache/run/run.h"
#include "cache/tier/tier.h"

/* Returns seconds of all processes added up, or 0 if the tier has no room for a trial. Measures a
 * tier once in a process, with a file of 1 MiB without a name. For one thread at a time. */
double cache_cost_s(const struct stk_tier *tier, const struct stk_run_counts *counts);
