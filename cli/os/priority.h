/* The priority of threads that work beside the job. */
#ifndef STK_CLI_OS_PRIORITY_H
#define STK_CLI_OS_PRIORITY_H

/* Gives this thread the lowest priority that still makes progress: the job may be waiting for the
 * file that this thread fills. */
void priority_lower(void);

#endif
