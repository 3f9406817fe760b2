#include "cli/run/superseded.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/walk.h"
#include "cache/cache.h"
#include "cache/origin/entry_name.h"
#include "cli/fill/job_cache.h"
#include "cli/os/detached.h"
#include "cli/tiers/entries.h"

#define LOOK_NS         (STK_NS_PER_S / 2)
#define LONGEST_REST_NS (600 * STK_NS_PER_S)

struct removing {
    struct stk_cache *cache;
    const struct stk_tier *tier;
    uint64_t count;
};

/* Removes an entry, and gives its room back. No process can adopt the entry meanwhile, unless the
 * file has become again what it was before. Then that file's entry is made anew. */
static int remove_if_old(void *context, int dirfd, const char *name, const struct stat *stat)
{
    char path[STK_PATH_BYTES];
    struct removing *removing = context;
    if (stk_entry_looks_like(name, stat) && entries_path_of(path, dirfd, name) &&
        stk_cache_is_superseded(removing->cache, path) && unlinkat(dirfd, name, 0) == 0) {
        stk_tier_free(removing->tier->shared, stat->st_blocks, 1);
        removing->count++;
    }
    return 0;
}

/* Answers how many were removed. Opening the cache asks the origin, which may hang. */
static void remove_old(void *context, int out)
{
    struct removing *removing = context;
    char tree[STK_HOME_BYTES + 8];
    removing->cache = job_cache();
    while (removing->cache != NULL &&
           (removing->tier = stk_cache_next_tier(removing->cache, removing->tier)) != NULL) {
        snprintf(tree, sizeof tree, "%s/tree", removing->tier->home);
        stk_walk(tree, remove_if_old, removing);
    }
    detached_answer(out, &removing->count, sizeof removing->count);
}

static uint64_t count_refused(const struct stk_run *run)
{
    static struct stk_run_counts counts;
    stk_run_read(run, &counts);
    return counts.bypassed[STK_BYPASS_BUDGET] + counts.bypassed[STK_BYPASS_TIER];
}

/* The walks, one at a time. */
struct walks {
    struct detached walk; /* of process 0: there is none now */
    uint64_t refused;     /* files, before the latest walk */
    int64_t rest_ns, next_ns;
};

static void begin_if_refused(struct walks *walks, const struct stk_run *run)
{
    struct removing removing = {.count = 0};
    uint64_t refused = count_refused(run);
    if (refused > walks->refused && stk_clock_boottime_ns() >= walks->next_ns &&
        detached_begin(&walks->walk, remove_old, &removing)) {
        walks->refused = refused;
    }
}

/* Rests longer after a walk that found nothing. */
static void end_if_done(struct walks *walks)
{
    uint64_t count = 0;
    if (detached_wait(&walks->walk, &count, sizeof count, 0) != DETACHED_LATE) {
        walks->rest_ns = count > 0 ? LOOK_NS : 2 * walks->rest_ns;
        walks->rest_ns = walks->rest_ns < LONGEST_REST_NS ? walks->rest_ns : LONGEST_REST_NS;
        walks->next_ns = stk_clock_boottime_ns() + walks->rest_ns;
    }
}

void superseded_watch(const struct stk_run *run, _Atomic uint32_t *ended, pthread_mutex_t *at_work)
{
    struct walks walks = {.rest_ns = LOOK_NS};
    while (atomic_load(ended) == 0) {
        pthread_mutex_unlock(at_work);
        stk_sys_futex_wait(ended, 0, LOOK_NS);
        pthread_mutex_lock(at_work);
        if (walks.walk.pid != 0) {
            end_if_done(&walks);
        } else if (atomic_load(ended) == 0) {
            begin_if_refused(&walks, run);
        }
    }
    if (walks.walk.pid != 0) {
        detached_leave(&walks.walk);
    }
}
