/*
 * How much runs have opened of what they covered: so the next one knows beforehand what fits, where
 * a server would have to be asked for it. A line for each set of covered paths, in the state
 * directory (cli/state.h); no promise hangs on it, so it may be old, lost or anybody's making.
 */
#ifndef STK_CLI_SIZES_H
#define STK_CLI_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/run.h"
#include "cli/request.h"

struct sizes {
    uint64_t files, bytes;
};

/* What the last run that opened files there has opened. False: nothing is known, or the home does
 * not answer. */
bool sizes_recall(const struct request *request, struct sizes *out);
/* That this run has. Nothing is kept of a run that opened no file, or files that could not be told
 * apart, nor where the user wants no record (--no-history): a line names what was covered. */
void sizes_remember(const struct request *request, const struct stk_run_counts *counts);

#endif
