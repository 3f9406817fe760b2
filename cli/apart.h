/*
 * Processes that may be left behind: what they do is to ask a file system that may not answer. Who
 * waits for a server in the kernel cannot be ended, and a thread would hold up the end of its
 * process; so it is done by a process of its own, which nobody has to wait for.
 */
#ifndef STK_CLI_APART_H
#define STK_CLI_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* For such a process: it has no descriptors but `kept`, whose other ends somebody may wait for, nor
 * the terminal's signals, and ends with the thread that forked it, if it can. */
void apart_stand_alone(pid_t parent, int kept);

/* One that was begun; for one thread at a time. */
struct apart {
    pid_t pid; /* 0: there is none */
    int in;    /* where its answer comes */
};

/* Has work(context, out) done there, which may write one answer to `out`; it has a copy of this
 * process's memory, and ends when it returns. False: it is not begun, and there is nothing to wait
 * for. Forks; so the context stays the caller's, and may go at once. */
typedef void apart_work(void *context, int out);
bool apart_begin(struct apart *apart, apart_work *work, void *context);
/* For its work: gives the answer, or ends the process without one. */
void apart_tell(int out, const void *answer, size_t bytes);

/* Waits for the answer, which has so many bytes. TOLD: it is there. GONE: the process ended without
 * one. In both cases nothing is left of it. LATE: it is at work, and may be waited for again, or
 * left. */
enum apart_state { APART_TOLD, APART_GONE, APART_LATE, APART_NONE };
enum apart_state apart_wait(struct apart *apart, void *answer, size_t bytes, int patience_ms);
/* Ends it if it can be ended, and waits for nothing: it may stay until its server answers. */
void apart_leave(struct apart *apart);

/* All of that: begins it, waits for its answer, and leaves it where it is LATE. NONE: it could not
 * be begun. */
enum apart_state apart_ask(apart_work *work, void *context, void *answer, size_t bytes,
                           int patience_ms);

#endif
