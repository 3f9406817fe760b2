/*
 * Processes that can be left behind. Each asks a file system that may never answer. A process that
 * waits for a server in the kernel cannot be killed, and a waiting thread would hold up the exit of
 * its process. So a process of its own asks, and no other process has to wait for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Detaches the calling process. It closes all descriptors but `kept`, since another process may
 * wait for their other ends. It leaves the terminal's signals, ignores those that are
 * meant for a job, and ends with the thread that forked it if it can. */
void detached_stand_alone(pid_t parent, int kept);

/* A detached process, for use by one thread at a time. */
struct detached {
    pid_t pid; /* 0: none was started */
    int in;    /* its answer arrives here */
};

/* Forks a detached process that calls work(context, out) on a copy of this process's memory, and
 * ends when work returns. Work may write one answer to `out`. Returns false if no process was
 * started. `context` stays the caller's and may be freed at once. */
typedef void detached_work(void *context, int out);
bool detached_begin(struct detached *detached, detached_work *work, void *context);
/* Writes the answer. Call it in work. Ends the process if the answer cannot be written. */
void detached_answer(int out, const void *answer, size_t bytes);

/* Waits for the answer of `bytes` bytes. ANSWERED: it is there. GONE: the process ended without an
 * answer. In both cases nothing of the process is left. LATE: the process is still at work; wait
 * again, or leave it. */
enum detached_state { DETACHED_ANSWERED, DETACHED_GONE, DETACHED_LATE, DETACHED_NONE };
enum detached_state detached_wait(struct detached *detached, void *answer, size_t bytes,
                                  int patience_ms);
/* Kills the process if it can be killed, and does not wait. The process may stay until its server
 * answers. */
void detached_leave(struct detached *detached);

/* Begins a process, waits for its answer, and leaves it if it is LATE. Returns NONE if no process
 * could be started. */
enum detached_state detached_ask(detached_work *work, void *context, void *answer, size_t bytes,
                                 int patience_ms);
