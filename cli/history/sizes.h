/* How much of the covered paths earlier runs opened. The next run then knows what fits without
 * asking a server. One line for each set of covered paths, in the state directory
 * (cli/os/state_dir.h). The figures are hints: they may be old, lost or forged. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/run/run.h"
#include "cli/args/request.h"

struct sizes {
    uint64_t files, bytes;
};

/* Reads how much the last run that opened files there has opened. Returns false if nothing is
 * known, or if the home does not answer. */
bool sizes_recall(const struct request *request, struct sizes *out);
/* Remembers how much this run has opened. Skips a run that opened no file, and one that could not
 * count files apart from opens. Skips it also if the user wants no record (--no-history): a line
 * names the covered paths. */
void sizes_remember(const struct request *request, const struct stk_run_counts *counts);
