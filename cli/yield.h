/* Threads that work beside the job. */
#ifndef STK_CLI_YIELD_H
#define STK_CLI_YIELD_H

/* Has this thread yield to all others, but not for ever: the job may be waiting for the file that
 * is being filled. */
void yield_to_others(void);

#endif
