/* Threads that work off tasks. See crew.h. */
#include "wrappers/python/core/feed/crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/sys.h"

struct queue {
    struct crew_task *first, *last;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t more; /* there is a task, or the end has come */
    pthread_cond_t less; /* nothing of some group is running */
    struct queue queues[CREW_URGENCIES];
    unsigned at_once, usual; /* tasks that are not urgent: at most, and now */
    bool over;
    _Atomic uint32_t ends; /* a futex */
    pid_t owner;
    unsigned count;
    pthread_t threads[];
};

/* ---- the queues; under the lock ---- */

/* Of which queue a thread may take a task now; NULL: of none. */
static struct queue *next_queue(struct crew *crew)
{
    struct queue *urgent = &crew->queues[CREW_URGENT], *usual = &crew->queues[CREW_USUAL];
    if (urgent->first != NULL) {
        return urgent;
    }
    return usual->first != NULL && crew->usual < crew->at_once ? usual : NULL;
}

static struct crew_task *take(struct queue *queue)
{
    struct crew_task *task = queue->first;
    queue->first = task->next;
    return task;
}

static void put(struct queue *queue, struct crew_task *task)
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
static size_t drop(struct queue *queue, const struct crew_group *group)
{
    struct queue rest = {NULL, NULL};
    size_t dropped = 0;
    for (struct crew_task *task = queue->first, *next; task != NULL; task = next) {
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

/* Who was woken wakes the next one, as long as there is something to do. */
static void wake_another(struct crew *crew)
{
    if (next_queue(crew) != NULL) {
        pthread_cond_signal(&crew->more);
    }
}

static void note_end(struct crew *crew)
{
    atomic_fetch_add(&crew->ends, 1);
    stk_sys_futex_wake_all(&crew->ends);
}

/* One task, without the lock but at the beginning and at the end. */
static void run(struct crew *crew, struct queue *queue)
{
    struct crew_task *task = take(queue);
    struct crew_group *group = task->group;
    bool usual = queue == &crew->queues[CREW_USUAL];
    crew->usual += usual;
    group->running++;
    wake_another(crew);
    pthread_mutex_unlock(&crew->lock);
    group->work(task);
    pthread_mutex_lock(&crew->lock);
    group->running--;
    crew->usual -= usual;
    if (group->running == 0) {
        pthread_cond_broadcast(&crew->less);
    }
    if (--group->left == 0) { /* from here on it may be given the next tasks */
        note_end(crew);
    }
}

static void *work(void *argument)
{
    struct crew *crew = argument;
    pthread_mutex_lock(&crew->lock);
    while (!crew->over) {
        struct queue *queue = next_queue(crew);
        if (queue != NULL) {
            run(crew, queue);
        } else {
            pthread_cond_wait(&crew->more, &crew->lock);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* They inherit this thread's mask. What libc needs for itself it leaves out of a full set. */
static int start(struct crew *crew, unsigned threads)
{
    int error = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (crew->count < threads && error == 0) {
        error = pthread_create(&crew->threads[crew->count], NULL, work, crew);
        crew->count += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return crew->count > 0 ? 0 : -error;
}

/* ---- the crew ---- */

struct crew *crew_new(unsigned threads, unsigned at_once, int *error)
{
    struct crew *crew = calloc(1, sizeof *crew + threads * sizeof crew->threads[0]);
    *error = -ENOMEM;
    if (crew == NULL) {
        return NULL;
    }
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->more, NULL);
    pthread_cond_init(&crew->less, NULL);
    crew->owner = stk_sys_getpid();
    crew->at_once = at_once;
    *error = start(crew, threads);
    if (*error != 0) {
        crew_free(crew);
        return NULL;
    }
    return crew;
}

void crew_free(struct crew *crew)
{
    if (crew == NULL || !crew_is_own(crew)) {
        return; /* a child cannot know in what state its parent's threads left it */
    }
    pthread_mutex_lock(&crew->lock);
    crew->over = true;
    pthread_cond_broadcast(&crew->more);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->count; i++) {
        pthread_join(crew->threads[i], NULL);
    }
    pthread_cond_destroy(&crew->less);
    pthread_cond_destroy(&crew->more);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

bool crew_is_own(const struct crew *crew)
{
    return crew->owner == stk_sys_getpid();
}

void crew_add(struct crew *crew, struct crew_group *group, enum crew_urgency urgency, void *tasks,
              size_t count, size_t size)
{
    pthread_mutex_lock(&crew->lock);
    group->left = count;
    for (size_t i = 0; i < count; i++) {
        struct crew_task *task = (struct crew_task *)((char *)tasks + i * size);
        task->group = group;
        put(&crew->queues[urgency], task);
    }
    wake_another(crew);
    pthread_mutex_unlock(&crew->lock);
}

bool crew_has_ended(const struct crew_group *group)
{
    return group->left == 0;
}

void crew_cancel(struct crew *crew, struct crew_group *group)
{
    if (!crew_is_own(crew)) {
        return;
    }
    pthread_mutex_lock(&crew->lock);
    for (int i = 0; group->left > 0 && i < CREW_URGENCIES; i++) {
        group->left -= drop(&crew->queues[i], group);
    }
    while (group->running > 0) {
        pthread_cond_wait(&crew->less, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
}

uint32_t crew_ends(const struct crew *crew)
{
    return atomic_load(&crew->ends);
}

void crew_wait(struct crew *crew, uint32_t ends, int64_t timeout_ns)
{
    if (crew_ends(crew) == ends) {
        stk_sys_futex_wait(&crew->ends, ends, timeout_ns);
    }
}
