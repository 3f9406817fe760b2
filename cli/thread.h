/* Threads of the command, beside the job. */
#ifndef STK_CLI_THREAD_H
#define STK_CLI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts one with a small stack. Signals are the main thread's, but for those that a thread sends
 * to itself by what it does (SIGSEGV, SIGSYS and their like). False: there is none to be had. */
bool thread_start(pthread_t *thread, void *(*work)(void *), void *context);

#endif
