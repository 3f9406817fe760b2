/* Giving memory back while the command runs. See cli/watch.h. */
#include "cli/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "cache/pressure.h"
#include "cli/tree.h"

#define PAUSE_NS 200000000L

static pthread_t watcher;
static struct stk_tier watched;
static bool watching;
static atomic_bool over;
static uint64_t removed_bytes;

static void *watch(void *context)
{
    const struct stk_tier *tier = context;
    const struct timespec pause = {0, PAUSE_NS};
    while (!atomic_load(&over)) {
        int64_t excess = stk_pressure_excess();
        if (excess > 0) {
            removed_bytes += tree_give_back(tier->home, (uint64_t)excess);
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

void watch_begin(const struct stk_tier *tier)
{
    sigset_t all, before;
    if (tier->shared == NULL || tier->shared->memory == 0) {
        return;
    }
    watched = *tier;
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watching = pthread_create(&watcher, NULL, watch, &watched) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

uint64_t watch_end(void)
{
    if (watching) {
        atomic_store(&over, true);
        pthread_join(watcher, NULL);
        watching = false;
    }
    return removed_bytes;
}
