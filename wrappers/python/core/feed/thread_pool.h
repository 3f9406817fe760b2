/*
 * A thread pool: threads that do tasks. The owner adds tasks and waits for them. The pool knows
 * nothing of Python.
 *
 * Tasks belong to groups. Urgent tasks are begun first; else tasks are begun in the order in which
 * they were added. Usual tasks are work for a processor: at most `at_once` of them run at a time.
 * The other threads are for urgent tasks, which may wait for a disk. No thread polls: threads
 * without a task sleep, and the owner sleeps until a group has ended.
 *
 * The threads take no signals, so that the program's own threads get them. Any thread of the
 * process that made the pool may call any function but thread_pool_free(). A child of fork has none
 * of the threads: there thread_pool_is_own() is false, and only thread_pool_cancel() and
 * thread_pool_free() may be called, which do nothing. Not for signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread_pool;
struct pool_group;

struct pool_task {
    struct pool_task *next; /* set by the pool */
    struct pool_group *group;
};

/* Tasks of one kind, with a common end. The memory is the owner's; it is zeros at first, except for
 * `work`. */
struct pool_group {
    void (*work)(struct pool_task *task); /* called by the threads */
    _Atomic size_t left;                  /* set by the pool: tasks that have not ended */
    unsigned running;
};

enum pool_urgency { POOL_URGENT, POOL_USUAL, POOL_URGENCIES };

/* Makes a pool of so many threads, or of as many as the system allows. At most `at_once` of them,
 * at least 1, do usual tasks. Returns NULL if there is no thread at all, with -errno in `error`.
 * The caller owns the pool. */
struct thread_pool *thread_pool_new(unsigned threads, unsigned at_once, int *error);
/* Drops tasks that have not begun; waits for the others, and for the threads to end. NULL is fine.
 */
void thread_pool_free(struct thread_pool *pool);
bool thread_pool_is_own(const struct thread_pool *pool);

/* Adds `count` tasks, `size` bytes apart, to a group without tasks. The tasks belong to the pool
 * until the group has ended. */
void thread_pool_add(struct thread_pool *pool, struct pool_group *group, enum pool_urgency urgency,
                     void *tasks, size_t count, size_t size);
/* Returns true if all tasks of the group have ended. */
bool thread_pool_has_ended(const struct pool_group *group);
/* Drops the group's tasks that have not begun, and waits for the others. */
void thread_pool_cancel(struct thread_pool *pool, struct pool_group *group);

/* Returns how many groups have ended so far, modulo 2^32. */
uint32_t thread_pool_ends(const struct thread_pool *pool);
/* Sleeps until thread_pool_ends() is not `ends` any more, a signal handler has run, or the time is
 * over. */
void thread_pool_wait(struct thread_pool *pool, uint32_t ends, int64_t timeout_ns);
