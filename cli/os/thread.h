/* Threads of the command, beside the job. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread with a small stack. All signals go to the main thread, except those that a thread
 * causes itself (SIGSEGV, SIGSYS and their like). Returns false if no thread could be started. */
bool thread_start(pthread_t *thread, void *(*work)(void *), void *context);
/* Starts such a thread, which is never joined: it may be asking a server that is gone. */
bool thread_start_detached(void *(*work)(void *), void *context);
/* Pauses between two looks at what ends without an event: for a part of the time since `began_ns`
 * (stk_clock_boottime_ns()), 10 ms at most. So what ends soon is seen soon, and what takes long
 * costs few looks. */
void thread_pause_since(int64_t began_ns);
