#include "cli/fill/fill_persistently.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"

#define ATTEMPTS 6 /* an eighth of a second in all */
#define PAUSE_NS (STK_NS_PER_S / 500)

bool fill_is_want_of_room(enum stk_bypass why)
{
    return why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY || why == STK_BYPASS_TIER ||
           why == STK_BYPASS_CATALOGUE;
}

static bool wants_room(const struct stk_outcome *outcome)
{
    return outcome->kind == STK_COUNT_OPENS && fill_is_want_of_room(outcome->why) &&
           outcome->why != STK_BYPASS_MEMORY;
}

bool fill_has_room(const struct stk_cache *cache, uint64_t bytes)
{
    const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
    while (tier != NULL && stk_budget_left(&tier->shared->budget) <
                               stk_budget_blocks_of(bytes, tier->shared->block_bytes)) {
        tier = stk_cache_next_tier(cache, tier);
    }
    return tier != NULL;
}

/* Returns true if a file that was refused for want of room might have room soon. Other processes,
 * such as the job, reserve room for a moment, or have the ledger locked (cache/tier/ledger.h). */
static bool may_have_room(const struct stk_cache *cache, const struct stk_outcome *outcome)
{
    return wants_room(outcome) &&
           (fill_has_room(cache, outcome->size) || outcome->why == STK_BYPASS_CATALOGUE);
}

void fill_persistently(struct stk_cache *cache, const struct stk_place *place, int fd,
                       int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome)
{
    static pthread_rwlock_t filling = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_rdlock(&filling);
    stk_cache_fill(cache, place, fd, opened_ns, entry, outcome);
    pthread_rwlock_unlock(&filling);
    if (!wants_room(outcome)) {
        return;
    }
    pthread_rwlock_wrlock(&filling);
    stk_cache_fill(cache, place, fd, opened_ns, entry, outcome);
    for (int i = 0; i < ATTEMPTS && may_have_room(cache, outcome); i++) {
        nanosleep(&(struct timespec){0, PAUSE_NS << i}, NULL);
        stk_cache_fill(cache, place, fd, opened_ns, entry, outcome);
    }
    pthread_rwlock_unlock(&filling);
}
