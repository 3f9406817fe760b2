/* One line on a terminal that tells how far the filling ahead is (cli/ahead.h), written over again
 * and again; elsewhere nothing. */
#ifndef STK_CLI_PROGRESS_H
#define STK_CLI_PROGRESS_H

/* Starts a thread that writes it, if standard error is a terminal. */
void progress_begin(void);
/* Ends that, and takes the line away. */
void progress_end(void);

#endif
