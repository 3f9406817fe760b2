#include "cli/ahead/big_ahead.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cli/fill/big_files.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"

#define WORKERS 16 /* blocks at a time */

static struct {
    struct stk_cache cache; /* as the job's, but without a run, which counts what its job reads */
    struct stk_run run;
    struct big_worker workers[WORKERS];
    unsigned started; /* under the lock */
    pthread_mutex_t lock;
    atomic_uint alive;
    atomic_bool over;
} big = {.lock = PTHREAD_MUTEX_INITIALIZER};

void big_ahead_begin(const struct stk_cache *cache)
{
    big.cache = *cache;
    big.run = cache->run;
    big.cache.run.file = NULL;
    big_files_begin(&big.cache, NULL);
}

static bool goes_on(void)
{
    return !atomic_load(&big.over);
}

static void *fill(void *worker)
{
    priority_lower();
    while (goes_on()) {
        big_files_step(worker, goes_on);
    }
    big_worker_close(worker);
    atomic_fetch_sub(&big.alive, 1);
    return worker;
}

/* Starts the threads with the first file. */
static void start_workers(void)
{
    pthread_mutex_lock(&big.lock);
    while (big.started < WORKERS) {
        struct big_worker *worker = &big.workers[big.started];
        big_worker_set_up(worker);
        atomic_fetch_add(&big.alive, 1);
        if (!thread_start_detached(fill, worker)) {
            atomic_fetch_sub(&big.alive, 1);
            break;
        }
        big.started++;
    }
    pthread_mutex_unlock(&big.lock);
}

static void count_end(const struct big_end *end)
{
    if (end->filled > 0) {
        stk_run_count(&big.run, STK_RUN_COUNTER(ahead) + STK_AHEAD_FILES,
                      end->why == STK_BYPASS_NONE);
        stk_run_count(&big.run, STK_RUN_COUNTER(ahead) + STK_AHEAD_BYTES, end->filled);
    }
}

enum stk_bypass big_ahead_add(const struct stk_place *place, uint32_t record, int fd,
                              int64_t opened_ns)
{
    struct big_end end = {.why = STK_BYPASS_NONE};
    const struct big_file file = {.rank = BIG_AHEAD, .ended = count_end};
    enum big_taken taken = big_files_add(place, record, fd, opened_ns, &file, &end);
    start_workers();
    return taken == BIG_REFUSED ? end.why : taken == BIG_LATER ? STK_BYPASS_STUCK : STK_BYPASS_NONE;
}

bool big_ahead_end(void)
{
    atomic_store(&big.over, true);
    big_files_wake();
    pthread_mutex_lock(&big.lock);
    for (unsigned each = 0; each < big.started; each++) {
        read_cancel_cut(&big.workers[each].cancel);
    }
    pthread_mutex_unlock(&big.lock);
    return atomic_load(&big.alive) == 0;
}
