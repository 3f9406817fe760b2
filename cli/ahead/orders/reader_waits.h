/* The waits of a thread that reads ahead, until each file came. By the sum of all threads it is
 * known what limits reading ahead (cli/summary/figures.h). */
#pragma once

#include <stdint.h>

#include "cache/run/run.h"

/* One thread's waits. Zero it before the thread's first file, and `waited_ns` before each file. */
struct reader_waits {
    int64_t waited_ns[STK_AHEAD_COUNTS]; /* for this file; only what ends in _NS */
    unsigned files;                      /* that came */
    uint64_t delayed_ns;                 /* runnable without a processor, when that was last read */
};

/* Counts a file that came, with its waits. */
void reader_waits_count(struct reader_waits *waits, struct stk_run *run);
