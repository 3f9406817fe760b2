/*
 * What fits where: before the run, of what is covered; and afterwards, what each tier came to. In
 * a tier that holds some of a covered directory already, what it holds is taken to be that.
 */
#ifndef STK_CLI_OUTLOOK_H
#define STK_CLI_OUTLOOK_H

#include <stdio.h>

#include "cache/run.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/summary_figures.h"

/* What is covered, by a look of half a second at most. */
struct outlook_look {
    uint64_t files, bytes;
    int64_t blocks;
    bool cut;    /* there may be more */
    bool of_run; /* of what the last run has opened, and not of what lies there */
};
void outlook_look(const struct request *request, struct outlook_look *look);

/* The tiers behind the first, and which share of a job's opens each will serve, after such a look.
 * Where there is one tier, that is said if it cannot hold all, after a look of a tenth of a second;
 * where that is not enough, or would have to ask a server, of what the last run has opened
 * there. */
void outlook_announce(const struct request *request, const struct session *session);
/* Of several tiers: what each has served, and how much of it is used. Of one that was full: which
 * share of the opens it has served once it was. */
void outlook_print(FILE *out, const struct figures *figures);
/* The same of one or more, for programs: the member "tiers". */
void outlook_write_json(FILE *out, const struct session *session,
                        const struct stk_run_counts *counts);

#endif
