/* A fill by a shared tier, and what is left to be put there. See cache/fill.h, cache/errand.h. */
#include "cache/fill.h"

#include "base/sys.h"
#include "base/text.h"
#include "cache/errand.h"

static struct stk_errands *errands_of(const struct stk_fill *fill)
{
    return stk_run_errands(&fill->cache->run);
}

/* Whether errands are done for this version of a file. Other nodes find it by its root's name, if
 * that tells the volume, and the file is on it. */
static bool begin(struct stk_errand_wish *wish, enum stk_errand_kind kind,
                  const struct stk_cache *cache, const struct stk_place *place,
                  const struct stk_record *record)
{
    *wish = (struct stk_errand_wish){.kind = kind, .bytes = record->size};
    return stk_errands_are_open(stk_run_errands(&cache->run)) && place->root->lasting &&
           stk_record_dev(record) == place->root->dev &&
           stk_errand_path(wish->path, place->root, place->below, stk_record_name(record));
}

/* ---- by a fill ---- */

static bool begin_of(const struct stk_fill *fill, enum stk_errand_kind kind,
                     struct stk_errand_wish *wish)
{
    bool begun = begin(wish, kind, fill->cache, fill->place, fill->record);
    wish->tier = fill->making.tier != NULL ? fill->making.tier->index : 0;
    return begun;
}

static enum stk_errand_answer ask(struct stk_fill *fill, const struct stk_errand_wish *wish)
{
    return stk_errand_ask(errands_of(fill), wish, &fill->record->claim, &fill->check);
}

bool stk_fill_is_far(struct stk_fill *fill)
{
    struct stk_errand_wish wish;
    return begin_of(fill, STK_ERRAND_LOOK, &wish) && ask(fill, &wish) == STK_ERRAND_YES;
}

/* Nobody has seen the draft yet, so its mode may be another for a moment. */
bool stk_fill_fetch(struct stk_fill *fill, const struct stk_entry_draft *draft)
{
    struct stk_errand_wish wish;
    if (!begin_of(fill, STK_ERRAND_FETCH, &wish) ||
        !stk_text_copy(wish.draft, sizeof wish.draft, stk_path_leaf(draft->path)) ||
        stk_sys_chmod(draft->path, 0600) != 0) {
        return false;
    }
    wish.dev = draft->dev;
    wish.ino = draft->ino;
    enum stk_errand_answer answer = ask(fill, &wish);
    fill->damaged = answer == STK_ERRAND_DAMAGED;
    return answer == STK_ERRAND_YES && stk_sys_chmod(draft->path, STK_ENTRY_MODE) == 0;
}

static bool fits_where_others_pass(const struct stk_making *making, const struct stk_tier *tier)
{
    const struct stk_budget *budget = &tier->shared->budget;
    return stk_budget_blocks_of(making->bytes, tier->shared->block_bytes) <=
           stk_passing_room(budget) - stk_passing_spared(making->copied, budget);
}

/* What is copied passes on to the shared tier, and not where that has no room for it. */
bool stk_fill_may_pass(const struct stk_fill *fill)
{
    struct stk_errand_wish wish;
    const struct stk_cache *cache = fill->cache;
    const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
    while (tier != NULL && !fits_where_others_pass(&fill->making, tier)) {
        tier = stk_cache_next_tier(cache, tier);
    }
    return tier != NULL && begin_of(fill, STK_ERRAND_FETCH, &wish) &&
           (!fill->making.copied || stk_errands_have_room(errands_of(fill)));
}

bool stk_fill_begin_passing(struct stk_fill *fill)
{
    struct stk_errand_wish wish;
    struct stk_passings *passings = stk_run_passings(&fill->cache->run);
    if (begin_of(fill, STK_ERRAND_FETCH, &wish)) {
        fill->making.passing =
            stk_passing_begin(passings, fill->making.copied, fill->number, wish.path);
    }
    return fill->making.passing != NULL;
}

void stk_fill_end_passing(struct stk_fill *fill)
{
    stk_passing_end(stk_run_passings(&fill->cache->run), fill->making.passing);
    fill->making.passing = NULL;
}

void stk_fill_publish(struct stk_fill *fill, bool copied)
{
    struct stk_errand_wish wish;
    struct stk_errands *errands = errands_of(fill);
    if (!fill->fetched && begin_of(fill, STK_ERRAND_PUBLISH, &wish)) {
        wish.ino = fill->making.ino;
        wish.repairs = fill->damaged;
        if (!stk_errand_put(errands, &wish) && copied) {
            stk_errands_count(errands, STK_ERRANDS_LEFT, 1);
        }
    }
}

/* ---- what is here already ---- */

void stk_cache_publish(struct stk_cache *cache, const struct stk_place *place,
                       const struct stk_ask *ask)
{
    struct stk_errand_wish wish;
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, ask->record);
    if (record != NULL && begin(&wish, STK_ERRAND_PUBLISH, cache, place, record)) {
        wish.tier = ask->tier;
        wish.ino = atomic_load(&record->entry_ino);
        stk_errand_put(stk_run_errands(&cache->run), &wish);
    }
}
