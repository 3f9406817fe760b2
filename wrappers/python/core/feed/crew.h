/*
 * A crew: threads that work off tasks, and the one who hands these out and waits for them. Nothing
 * of Python is known here.
 *
 * Tasks belong to groups. Urgent ones come first, else they are begun in the order in which they
 * were added. Usual ones are work for a processor: no more of them than the crew was told to are
 * done at a time, and its other threads are for urgent ones, which may wait for a disk. Nobody
 * waits by looking again and again: threads without a task sleep, and who hands them out sleeps
 * until a group has ended.
 *
 * The threads take no signals, so that these go to the program's own. All functions but crew_free()
 * may be called by any thread of the process that made the crew. A child of fork has none of the
 * threads: there crew_is_own() is false, and only crew_cancel() and crew_free() may be called,
 * which do nothing. Not for signal handlers.
 */
#ifndef STK_PYTHON_FEED_CREW_H
#define STK_PYTHON_FEED_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crew;
struct crew_group;

struct crew_task {
    struct crew_task *next; /* the crew's */
    struct crew_group *group;
};

/* Tasks that are of one kind and have one end. The owner's memory, zeros at first but for `work`.
 */
struct crew_group {
    void (*work)(struct crew_task *task); /* called by the threads */
    _Atomic size_t left;                  /* the crew's: tasks that have not ended */
    unsigned running;
};

enum crew_urgency { CREW_URGENT, CREW_USUAL, CREW_URGENCIES };

/* With so many threads, or with as many as can be had, of which `at_once`, from 1 on, do usual
 * tasks. NULL: with none, and `error` says why
 * (-errno). The caller owns it. */
struct crew *crew_new(unsigned threads, unsigned at_once, int *error);
/* What has not begun is dropped; waits for what has, and for the threads' end. NULL is fine. */
void crew_free(struct crew *crew);
bool crew_is_own(const struct crew *crew);

/* Adds a group that has no tasks: `count` of them, `size` bytes apart. They are the crew's until
 * the group has ended. */
void crew_add(struct crew *crew, struct crew_group *group, enum crew_urgency urgency, void *tasks,
              size_t count, size_t size);
/* Whether it has none that have not ended. */
bool crew_has_ended(const struct crew_group *group);
/* Drops what has not begun, and waits for what has. */
void crew_cancel(struct crew *crew, struct crew_group *group);

/* How many groups have ended so far, modulo 2^32. */
uint32_t crew_ends(const struct crew *crew);
/* Sleeps until that is another number, or somebody's signal handler has run, or for so long. */
void crew_wait(struct crew *crew, uint32_t ends, int64_t timeout_ns);

#endif
