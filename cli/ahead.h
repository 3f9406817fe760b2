/*
 * Filling ahead: what a run covers is listed and filled by threads of the command, by the same
 * calls as an open of a program's makes (cache/cache.h). So versions, budgets and pressure hold as
 * they do there, a file that is filled already costs one look, and beside a running job each file
 * is read once, by whoever comes first. A job may wait for a file that is being filled here, so
 * these threads yield to others without ever starving.
 */
#ifndef STK_CLI_AHEAD_H
#define STK_CLI_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cli/request.h"

/* What became of the files so far. */
struct ahead_figures {
    uint64_t found, done;            /* files listed; of these, looked at */
    bool whole;                      /* nothing is left to be listed */
    uint64_t filled, filled_bytes;   /* with --dry-run: what would be */
    int64_t wanted_blocks;           /* with --dry-run: that this would take of the budget */
    uint64_t present, present_bytes; /* filled before, or by others meanwhile */
    uint64_t bigs, big_bytes;        /* of these files and bytes, those of files filled by blocks */
    uint64_t at_work, left_bytes;    /* big files under way; of these, what is to come */
    uint64_t vanished;               /* gone, or links that lead nowhere */
    uint64_t unreadable, unreadable_directories;
    uint64_t links; /* that lead to directories, or to what is no file */
    uint64_t refused[STK_BYPASS_KINDS];
    uint64_t batches, all_batches; /* beside a job: of its epoch, where that is known */
    bool stopped, full;            /* ended early: by ahead_stop; since nothing fitted any more */
    int64_t seconds_ns;            /* of filling, without the listing before it */
};

/* How many threads suit the slowest kind of origin among these roots. */
unsigned ahead_jobs(const struct stk_roots *roots);

/* Fills what lies at these paths, or a part of it, and returns when that is done or stopped. Once
 * at a time in a process. A dry run needs of the cache its options, its roots and the tier's home,
 * and changes nothing. */
void ahead_run(struct stk_cache *cache, const struct request *request);
/* The same beside the command, in a thread, with the run of the environment. */
void ahead_begin(const struct request *request);
/* Ends that, and tells what it came to. A thread that an origin keeps is left behind. */
void ahead_end(struct ahead_figures *out);
/* Has it return soon. Safe in signal handlers. */
void ahead_stop(void);
/* While it runs, and afterwards. */
void ahead_read(struct ahead_figures *out);

#endif
