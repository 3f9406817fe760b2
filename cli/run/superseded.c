#include "cli/run/superseded.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/walk.h"
#include "cache/cache.h"
#include "cache/origin/entry_name.h"
#include "cli/fill/job_cache.h"
#include "cli/tiers/entries.h"

#define LOOK_NS         (STK_NS_PER_S / 2)
#define LONGEST_REST_NS (600 * STK_NS_PER_S)

struct removing {
    struct stk_cache *cache;
    const struct stk_tier *tier;
    _Atomic uint32_t *ended;
    uint64_t count;
};

/* Removes an entry, and gives its room back. No process can adopt the entry meanwhile, unless the
 * file has become again what it was before. Then that file's entry is made anew. */
static int remove_if_old(void *context, int dirfd, const char *name, const struct stat *stat)
{
    char path[STK_PATH_BYTES];
    struct removing *removing = context;
    if (atomic_load(removing->ended) != 0) {
        return -EINTR;
    }
    if (stk_entry_looks_like(name, stat) && entries_path_of(path, dirfd, name) &&
        stk_cache_is_superseded(removing->cache, path) && unlinkat(dirfd, name, 0) == 0) {
        stk_tier_free(removing->tier->shared, stat->st_blocks, 1);
        removing->count++;
    }
    return 0;
}

static uint64_t remove_old(struct stk_cache *cache, _Atomic uint32_t *ended)
{
    struct removing removing = {.cache = cache, .ended = ended};
    char tree[STK_HOME_BYTES + 8];
    while ((removing.tier = stk_cache_next_tier(cache, removing.tier)) != NULL) {
        snprintf(tree, sizeof tree, "%s/tree", removing.tier->home);
        stk_walk(tree, remove_if_old, &removing);
    }
    return removing.count;
}

static uint64_t count_refused(const struct stk_cache *cache)
{
    static struct stk_run_counts counts;
    stk_run_read(&cache->run, &counts);
    return counts.bypassed[STK_BYPASS_BUDGET] + counts.bypassed[STK_BYPASS_TIER];
}

/* Waits longer after a walk that found nothing. */
void superseded_watch(_Atomic uint32_t *ended, pthread_mutex_t *at_work)
{
    uint64_t refused = 0;
    int64_t rest_ns = LOOK_NS, next_ns = 0;
    while (atomic_load(ended) == 0) {
        pthread_mutex_unlock(at_work);
        stk_sys_futex_wait(ended, 0, LOOK_NS);
        pthread_mutex_lock(at_work);
        /* not at once: opening asks the origin about the roots, which a short command can do
         * without */
        struct stk_cache *cache = atomic_load(ended) == 0 ? job_cache_if_open() : NULL;
        if (cache == NULL) {
            continue;
        }
        uint64_t now_refused = count_refused(cache);
        if (now_refused > refused && stk_clock_boottime_ns() >= next_ns) {
            refused = now_refused;
            rest_ns = remove_old(cache, ended) > 0 ? LOOK_NS : 2 * rest_ns;
            rest_ns = rest_ns < LONGEST_REST_NS ? rest_ns : LONGEST_REST_NS;
            next_ns = stk_clock_boottime_ns() + rest_ns;
        }
    }
}
