/* How much fits into which tier: a forecast before the run, and the outcome afterwards. If a tier
 * holds part of a covered directory already, that part is taken to be what the run will find
 * there. */
#pragma once

#include <stdio.h>

#include "cache/run/run.h"
#include "cli/args/request.h"
#include "cli/out/json.h"
#include "cli/run/session.h"
#include "cli/summary/figures.h"

/* The size of the covered files, found by a look of half a second at most. */
struct forecast_look {
    uint64_t files, bytes;
    int64_t blocks;
    bool cut;    /* there may be more */
    bool big;    /* some are read by blocks: a share of the room is none of the opens */
    bool of_run; /* of the files that the last run opened, not of the present ones */
};
void forecast_look(const struct request *request, struct forecast_look *look);

/* Says which share of a job's opens each of several tiers will serve, after such a look. With one
 * tier, says if it cannot hold everything, after a look of a tenth of a second. If that look is too
 * short, or would have to ask a server, uses the size that the last run opened there. If the index
 * of the cache cannot know all files, says that instead. */
void forecast_announce(const struct request *request, const struct session *session);
/* Prints for several tiers how much each has served and how full it is. For one tier that was full,
 * prints which share of later opens it has served. */
void forecast_print(FILE *out, const struct figures *figures);
/* Writes the member "tiers" of --json, for one tier or more. */
void forecast_write_json(struct json *json, const struct session *session,
                         const struct stk_run_counts *counts);
