#include "cli/run/memory_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"
#include "cache/tier/pressure.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"
#include "cli/run/superseded.h"
#include "cli/tiers/entries.h"

#define PAUSE_NS       200000000L
#define LEAST_PAUSE_NS 5000000L
#define IN_VAIN_NS     20000000L

/* Bytes that a whole job takes at most in a nanosecond. */
#define MOST_BYTES_A_NS 8

static pthread_t watcher;
static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER; /* of the thread that counts */
static const struct session *watched;
static struct samples *granted; /* NULL: there is nothing to grant */
static bool watching;
static atomic_bool over;
static _Atomic uint32_t ended; /* `over`, as a futex */
static uint64_t removed_bytes;
static int64_t left_bytes; /* the memory that the job may take until entries have to go */

static void watch_memory(const struct stk_tier *tier)
{
    struct stk_excess excess;
    if (stk_pressure_excess(tier, &excess)) {
        removed_bytes += stk_pressure_give_back(tier, &excess, UINT64_MAX);
    }
    left_bytes = excess.left < left_bytes ? excess.left : left_bytes;
}

/* Gives back memory, from the last tier on, which is filled last. */
static void watch_tiers(void)
{
    left_bytes = INT64_MAX;
    for (unsigned i = watched->tier_count; i > 0; i--) {
        if (watched->tiers[i - 1].shared->memory != 0) {
            watch_memory(&watched->tiers[i - 1]);
        }
    }
}

static bool is_any_memory(void)
{
    bool any = false;
    for (unsigned i = 0; i < watched->tier_count; i++) {
        any = any || watched->tiers[i].shared->memory != 0;
    }
    return any;
}

static void pause_for(long ns)
{
    stk_sys_futex_wait(&ended, 0, ns);
}

/* Returns the pause until the next look, which comes before the job can have taken all that is
 * left. A control group may allow little: the job may take half of that in one call. */
static long pause_ns(void)
{
    int64_t pause = left_bytes / MOST_BYTES_A_NS;
    return pause < LEAST_PAUSE_NS ? LEAST_PAUSE_NS : pause < PAUSE_NS ? (long)pause : PAUSE_NS;
}

/* Grants the sample store more room. A process that was refused keeps asking. */
static void watch_samples(void)
{
    bool asked = stk_tally_wait(granted->tally, pause_ns());
    if (!atomic_load(&over) && !samples_look(granted, asked) && asked) {
        pause_for(IN_VAIN_NS);
    }
}

static void *watch(void *context)
{
    while (!atomic_load(&over)) {
        watch_tiers();
        if (granted != NULL) {
            watch_samples();
        } else {
            pause_for(pause_ns());
        }
    }
    return context;
}

/* Counts and removes slowly: the job is waiting for the disk, too. */
static void *look_after_tiers(void *context)
{
    const int idle = 3 << 13; /* IOPRIO_CLASS_IDLE */
    priority_lower();
    syscall(SYS_ioprio_set, 1, 0, idle);
    pthread_mutex_lock(&at_work);
    for (unsigned i = 0; i < watched->tier_count; i++) {
        if (watched->recounts[i]) {
            entries_remove_old(watched->tiers[i].home, &over);
            stk_tier_recount_end(watched->tiers[i].shared, &watched->recount[i], &over);
        }
    }
    superseded_watch(&watched->run, &ended, &at_work);
    pthread_mutex_unlock(&at_work);
    return context;
}

void watch_begin(struct session *session)
{
    struct samples *samples = &session->samples;
    granted = samples->quota != NULL && samples->tally != NULL ? samples : NULL;
    watched = session;
    thread_start_detached(look_after_tiers, NULL);
    watching = (is_any_memory() || granted != NULL) && thread_start(&watcher, watch, NULL);
}

uint64_t watch_end(void)
{
    atomic_store(&over, true);
    atomic_store(&ended, 1);
    stk_sys_futex_wake_all(&ended);
    pthread_mutex_lock(&at_work); /* for good: a thread of low priority takes long to end */
    if (watching) {
        if (granted != NULL) {
            stk_tally_ask(granted->tally);
        }
        pthread_join(watcher, NULL);
        watching = false;
    }
    return removed_bytes;
}
