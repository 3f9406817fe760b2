#include "cli/verify/compare_queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/os/priority.h"
#include "cli/os/thread.h"
#include "cli/out/say.h"
#include "cli/verify/compare.h"

#define THREADS 4 /* each waits for an origin most of the time */
#define QUEUED  64

/* A copy in the queue. */
struct waiting_copy {
    enum findings_kind kind;
    char *copy, *origin;
};

static struct {
    struct stk_cache *cache;
    pthread_mutex_t lock; /* of the findings, and of all that follows */
    pthread_cond_t changed;
    struct findings *found;
    unsigned queued, busy;
    bool over;
    struct waiting_copy copies[QUEUED];
    pthread_t threads[THREADS];
    unsigned thread_count;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void compare(const struct waiting_copy *one)
{
    OWNED struct compared *compared = must_allocate(sizeof *compared);
    static void (*const compare_kind[FINDINGS_KINDS])(struct stk_cache * cache, const char *copy,
                                                      const char *origin, struct compared *out) = {
        [FINDINGS_ENTRY] = compare_entry,
        [FINDINGS_LISTING] = compare_listing,
        [FINDINGS_BLOCKS] = compare_blocks};
    compare_kind[one->kind](queue.cache, one->copy, one->origin, compared);
    pthread_mutex_lock(&queue.lock);
    findings_note(queue.found, one->kind, compared);
    pthread_mutex_unlock(&queue.lock);
    free(one->copy);
    free(one->origin);
}

/* Takes a copy from the queue. Returns false if the queue is empty and stays empty. */
static bool take_one(struct waiting_copy *out)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.queued == 0 && !queue.over) {
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    bool any = queue.queued > 0;
    if (any) {
        *out = queue.copies[--queue.queued];
        queue.busy++;
        pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.lock);
    return any;
}

static void *keep_comparing(void *context)
{
    struct waiting_copy one;
    priority_lower();
    while (take_one(&one)) {
        compare(&one);
        pthread_mutex_lock(&queue.lock);
        queue.busy--;
        pthread_cond_broadcast(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
    }
    return context;
}

void compare_queue_put(enum findings_kind kind, const char *copy, const char *origin)
{
    struct waiting_copy one = {kind, must_copy(copy), must_copy(origin)};
    pthread_mutex_lock(&queue.lock);
    while (queue.queued == QUEUED) {
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    queue.copies[queue.queued++] = one;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

void compare_queue_wait(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.queued > 0 || queue.busy > 0) {
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
}

void compare_queue_read(uint64_t *copies, uint64_t *bytes)
{
    pthread_mutex_lock(&queue.lock);
    *copies = findings_done(queue.found);
    *bytes = queue.found->bytes;
    pthread_mutex_unlock(&queue.lock);
}

void compare_queue_begin(struct stk_cache *cache, struct findings *found)
{
    unsigned count = 0;
    queue.cache = cache;
    queue.found = found;
    while (count < THREADS && thread_start(&queue.threads[count], keep_comparing, NULL)) {
        count++;
    }
    if (count == 0) {
        die("verify: no thread can be started: raise the limit of processes (ulimit -u)");
    }
    queue.thread_count = count;
}

void compare_queue_end(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.over = true;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    for (unsigned i = 0; i < queue.thread_count; i++) {
        pthread_join(queue.threads[i], NULL);
    }
}
