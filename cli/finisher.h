/*
 * Big files that the job has begun are finished by threads of `stoker run` (cache/begun.h,
 * cli/whole.h), so that later opens, maps and streams of them are native. They have the lowest
 * priority, leave the job the way where it reads by the origin itself, and end with the run.
 */
#ifndef STK_CLI_FINISHER_H
#define STK_CLI_FINISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/begun.h"
#include "cache/run.h"
#include "cli/request.h"

/* What it came to. */
struct finisher_figures {
    uint64_t files, bytes; /* that are whole now; filled of these, here */
    uint64_t left;         /* for which there was no room, or which changed */
};

/* A file that was mapped while blocks of it were missing. */
struct finisher_mapped {
    char *path;
    bool done; /* it is whole since */
};

/* Before the command starts: from now on its processes tell what they begin. */
void finisher_prepare(const struct request *request, const struct stk_run *run);
/* Starts it, after the environment was set. For want of threads the job's readers do it alone. */
void finisher_begin(const struct request *request);
/* Ends it; what an origin keeps is left behind. */
void finisher_end(struct finisher_figures *out);

/* The files that were mapped too early, and how many there are beside those whose names are known.
 * To be freed. */
struct finisher_mapped *finisher_list_mapped(const struct stk_run *run, unsigned *count,
                                             uint64_t *more);
void finisher_free_mapped(struct finisher_mapped *mapped, unsigned count);

#endif
