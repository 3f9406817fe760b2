#include "wrappers/python/core/feed/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "base/sys.h"

struct queue {
    struct pool_task *first, *last;
};

struct thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t more; /* there is a task, or the end has come */
    pthread_cond_t less; /* nothing of some group is running */
    struct queue queues[POOL_URGENCIES];
    unsigned at_once, usual; /* tasks that are not urgent: at most, and now */
    bool over;
    _Atomic uint32_t ends; /* a futex */
    pid_t owner;
    unsigned count;
    pthread_t threads[];
};

/* ---- the queues; under the lock ---- */

/* Returns the queue that a thread may take a task of now, or NULL. */
static struct queue *next_queue(struct thread_pool *pool)
{
    struct queue *urgent = &pool->queues[POOL_URGENT], *usual = &pool->queues[POOL_USUAL];
    if (urgent->first != NULL) {
        return urgent;
    }
    return usual->first != NULL && pool->usual < pool->at_once ? usual : NULL;
}

static struct pool_task *take(struct queue *queue)
{
    struct pool_task *task = queue->first;
    queue->first = task->next;
    return task;
}

static void put(struct queue *queue, struct pool_task *task)
{
    task->next = NULL;
    if (queue->first == NULL) {
        queue->first = task;
    } else {
        queue->last->next = task;
    }
    queue->last = task;
}

/* Takes a group's tasks out of a queue: how many there were. */
static size_t drop(struct queue *queue, const struct pool_group *group)
{
    struct queue rest = {NULL, NULL};
    size_t dropped = 0;
    for (struct pool_task *task = queue->first, *next; task != NULL; task = next) {
        next = task->next;
        if (task->group == group) {
            dropped++;
        } else {
            put(&rest, task);
        }
    }
    *queue = rest;
    return dropped;
}

/* ---- the threads ---- */

/* Each woken thread wakes the next one, as long as there are tasks. */
static void wake_another(struct thread_pool *pool)
{
    if (next_queue(pool) != NULL) {
        pthread_cond_signal(&pool->more);
    }
}

static void note_end(struct thread_pool *pool)
{
    atomic_fetch_add(&pool->ends, 1);
    stk_sys_futex_wake_all(&pool->ends);
}

/* One task, without the lock but at the beginning and at the end. */
static void run(struct thread_pool *pool, struct queue *queue)
{
    struct pool_task *task = take(queue);
    struct pool_group *group = task->group;
    bool usual = queue == &pool->queues[POOL_USUAL];
    pool->usual += usual;
    STK_INVARIANT(pool->usual <= pool->at_once && group->left > 0);
    group->running++;
    wake_another(pool);
    pthread_mutex_unlock(&pool->lock);
    group->work(task);
    pthread_mutex_lock(&pool->lock);
    STK_INVARIANT(group->running > 0);
    group->running--;
    pool->usual -= usual;
    if (group->running == 0) {
        pthread_cond_broadcast(&pool->less);
    }
    if (--group->left == 0) { /* from here on it may be given the next tasks */
        note_end(pool);
    }
}

static void *work(void *argument)
{
    struct thread_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->over) {
        struct queue *queue = next_queue(pool);
        if (queue != NULL) {
            run(pool, queue);
        } else {
            pthread_cond_wait(&pool->more, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* They inherit this thread's mask. libc leaves its own signals out of a full set. */
static int start(struct thread_pool *pool, unsigned threads)
{
    int error = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->count < threads && error == 0) {
        error = pthread_create(&pool->threads[pool->count], NULL, work, pool);
        pool->count += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool->count > 0 ? 0 : -error;
}

/* ---- the pool ---- */

struct thread_pool *thread_pool_new(unsigned threads, unsigned at_once, int *error)
{
    struct thread_pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->threads[0]);
    *error = -ENOMEM;
    if (pool == NULL) {
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
    pthread_cond_init(&pool->less, NULL);
    pool->owner = stk_sys_getpid();
    pool->at_once = at_once;
    *error = start(pool, threads);
    if (*error != 0) {
        thread_pool_free(pool);
        return NULL;
    }
    return pool;
}

void thread_pool_free(struct thread_pool *pool)
{
    if (pool == NULL || !thread_pool_is_own(pool)) {
        return; /* a child cannot know in what state its parent's threads left it */
    }
    pthread_mutex_lock(&pool->lock);
    pool->over = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->count; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->less);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

bool thread_pool_is_own(const struct thread_pool *pool)
{
    return pool->owner == stk_sys_getpid();
}

void thread_pool_add(struct thread_pool *pool, struct pool_group *group, enum pool_urgency urgency,
                     void *tasks, size_t count, size_t size)
{
    pthread_mutex_lock(&pool->lock);
    group->left = count;
    for (size_t i = 0; i < count; i++) {
        struct pool_task *task = (struct pool_task *)((char *)tasks + i * size);
        task->group = group;
        put(&pool->queues[urgency], task);
    }
    wake_another(pool);
    pthread_mutex_unlock(&pool->lock);
}

bool thread_pool_has_ended(const struct pool_group *group)
{
    return group->left == 0;
}

void thread_pool_cancel(struct thread_pool *pool, struct pool_group *group)
{
    if (!thread_pool_is_own(pool)) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    for (int i = 0; group->left > 0 && i < POOL_URGENCIES; i++) {
        group->left -= drop(&pool->queues[i], group);
    }
    while (group->running > 0) {
        pthread_cond_wait(&pool->less, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

uint32_t thread_pool_ends(const struct thread_pool *pool)
{
    return atomic_load(&pool->ends);
}

void thread_pool_wait(struct thread_pool *pool, uint32_t ends, int64_t timeout_ns)
{
    if (thread_pool_ends(pool) == ends) {
        stk_sys_futex_wait(&pool->ends, ends, timeout_ns);
    }
}
