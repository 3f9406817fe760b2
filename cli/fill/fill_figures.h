#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/run/run.h"

/* Figures of filling ahead (cli/fill/fill_ahead.h). Other work that shows a line of progress uses
 * them, too. */
struct fill_figures {
    uint64_t found, done;          /* files listed; of these, finished */
    bool whole;                    /* all files are listed */
    uint64_t filled, filled_bytes; /* with --dry-run: would be filled */
    int64_t wanted_blocks; /* with --dry-run: the blocks of the budget that they would take */
    uint64_t present, present_bytes; /* filled before, or by other processes meanwhile */
    uint64_t bigs, big_bytes;        /* of the filled and present ones: files filled by blocks */
    uint64_t at_work, left_bytes;    /* big files under way; bytes of them that are still to come */
    uint64_t vanished;               /* removed, or links that lead nowhere */
    uint64_t unreadable, unreadable_directories;
    uint64_t links; /* links that lead to directories, or to no regular file */
    uint64_t refused[STK_BYPASS_KINDS];
    uint64_t batches, all_batches; /* beside a job: of its epoch, if that is known */
    bool stopped, full; /* ended early: by fill_ahead_stop(); since nothing fitted any more */
    int64_t seconds_ns; /* time of filling, without the scan before it */
};
