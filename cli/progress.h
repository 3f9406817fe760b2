/* One line on a terminal that tells how far the filling ahead is (cli/ahead.h), or what goes from
 * file to file as that does, written over again and again; elsewhere nothing. */
#ifndef STK_CLI_PROGRESS_H
#define STK_CLI_PROGRESS_H

#include "cli/ahead.h"

/* Starts a thread that writes it, if standard error is a terminal that can, by what `figures`
 * tells. */
void progress_begin(void (*figures)(struct ahead_figures *out));
/* The same beside a job that may write to the same terminal: the line is written less often, and
 * what the job writes goes over it. A number of files that is not known is 0. */
void progress_begin_beside(void (*figures)(struct ahead_figures *out));
/* Ends that, and takes the line away. */
void progress_end(void);

#endif
