/* Threads of the command, beside the job. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with a small stack. All signals go to the main thread, except those that a thread
 * causes itself (SIGSEGV, SIGSYS and their like). Returns false if no thread could be started. */
bool thread_start(pthread_t *thread, void *(*work)(void *), void *context);
/* Starts such a thread, which is never joined: it may be asking a server that is gone. */
bool thread_start_detached(void *(*work)(void *), void *context);
