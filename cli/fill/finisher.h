/*
 * Completes big files that the job has begun (cache/run/big_queue.h, cli/fill/big_files.h), so that
 * later opens, maps and streams of them need no further help. Its threads belong to `stoker run`
 * and have a low priority. They yield while the job itself reads from the origin, and end with
 * the run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/run/big_queue.h"
#include "cache/run/run.h"
#include "cli/args/request.h"

/* The outcome. */
struct finisher_figures {
    uint64_t files, bytes;           /* files that are complete now; bytes that were filled here */
    uint64_t left[STK_BYPASS_KINDS]; /* files that cannot be finished, by the reason */
};

/* A file that was mapped while blocks of it were missing. */
struct finisher_mapped {
    char *path;
    bool done; /* it is complete by now */
};

/* Call it before the command starts: from then on the job's processes queue the files that they
 * begin. */
void finisher_prepare(const struct request *request, const struct stk_run *run);
/* Starts the threads, after the environment was set. If none can be started, only the job's readers
 * fill the files. */
void finisher_begin(const struct request *request);
/* Ends the threads. Leaves behind those that wait for an origin. */
void finisher_end(void);
/* Reads the figures. */
void finisher_read(struct finisher_figures *out);
/* Closes the job's queue: no process finishes its files. */
void finisher_close(void);

/* Returns the files that were mapped too early, and sets `more` to the number of further ones
 * without names. Free with finisher_free_mapped(). */
struct finisher_mapped *finisher_list_mapped(const struct stk_run *run, unsigned *count,
                                             uint64_t *more);
void finisher_free_mapped(struct finisher_mapped *mapped, unsigned count);
