/* One line on a terminal that shows how far filling ahead is (cli/fill/fill_ahead.h), or other work
 * that goes from file to file. It is rewritten again and again. Without a terminal nothing is
 * written. */
#pragma once

#include "cli/fill/fill_figures.h"

/* Starts a thread that writes the line from `figures`, if standard error is a terminal that can
 * rewrite a line. */
void progress_begin(void (*figures)(struct fill_figures *out));
/* Starts the thread of progress_begin for work that only counts files. `doing` names the work:
 * "removing". Work that ends at once shows no line. */
void progress_begin_counting(const char *doing, uint64_t (*count)(void));
/* Starts the thread of progress_begin beside a job that may write to the same terminal. The line is
 * written less often, and the job's output goes over it. An unknown number of files is 0. */
void progress_begin_beside(void (*figures)(struct fill_figures *out));
/* Ends the thread and removes the line. */
void progress_end(void);
