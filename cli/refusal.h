/*
 * Why a run has no cache. The job has to run with what this machine and its limits leave for us.
 * But what lies in the way and is somebody's has to be looked at, and who named a tier wants it
 * used, and who only fills one has nothing else to do: then the command does not start.
 */
#ifndef STK_CLI_REFUSAL_H
#define STK_CLI_REFUSAL_H

#include <stdbool.h>

#include "cli/request.h"

/* -errno, of a tier or (NULL) of the catalogue; 0: nothing is refused. */
struct refusal {
    int error;
    const struct request_tier *tier;
};

/* Says it in one line; `home` is the catalogue's. Exits with status 2 where the command does not
 * start, and returns where it runs uncached. */
void refusal_explain(const struct refusal *refusal, const char *home,
                     const struct request *request);
/* Says of a tier that has no room that the run does without it: it has others. */
void refusal_pass_over(const struct request_tier *tier);

#endif
