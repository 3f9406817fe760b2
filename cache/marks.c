/* What the program does to its files: marks and distrust. See cache/cache.h. */
#include "base/clock.h"
#include "cache/cache.h"
#include "cache/trust.h"
#include "cache/written.h"

/* The record of a place, made without an identity if there is none: only to carry the mark. */
static uint32_t find_or_make(struct stk_cache *cache, const struct stk_place *place)
{
    uint32_t number = stk_catalogue_find(&cache->catalogue, place->key);
    if (number != 0) {
        return number;
    }
    number = stk_catalogue_allocate(&cache->catalogue, place->key);
    return number != 0 ? stk_catalogue_insert(&cache->catalogue, place->key, number) : 0;
}

static uint32_t mark_record(struct stk_record *record, uint32_t now)
{
    uint32_t before = atomic_load(&record->written_s);
    while (before < now && !atomic_compare_exchange_weak(&record->written_s, &before, now)) {
    }
    return before;
}

void stk_cache_mark_written(struct stk_cache *cache, const struct stk_place *place,
                            struct stk_mark *mark)
{
    *mark = (struct stk_mark){0, 0, 0};
    if (cache->catalogue.header == NULL) {
        return;
    }
    stk_trust_end(cache, place->key); /* later runs are not held back by the mark */
    /* A new version may replace the record between finding and marking: then mark that, too. */
    uint32_t number = find_or_make(cache, place);
    for (int i = 0; i < 8 && number != 0; i++) {
        struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
        if (record == NULL) {
            return;
        }
        mark->record = number;
        mark->now = stk_written_seconds(stk_clock_boottime_ns());
        mark->before = mark_record(record, mark->now);
        uint32_t current = stk_catalogue_find(&cache->catalogue, place->key);
        if (current == number) {
            return;
        }
        number = current;
    }
}

void stk_cache_unmark_written(struct stk_cache *cache, const struct stk_mark *mark)
{
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, mark->record);
    uint32_t now = mark->now;
    if (record != NULL && mark->before != now) {
        atomic_compare_exchange_strong(&record->written_s, &now, mark->before);
    }
}

void stk_cache_mark_inode(struct stk_cache *cache, const struct stat *stat)
{
    if (cache->catalogue.header != NULL && S_ISREG(stat->st_mode)) {
        stk_written_mark_inode(&cache->catalogue, stat->st_dev, stat->st_ino);
        stk_trust_end_inode(cache, stat->st_dev, stat->st_ino);
    }
}

void stk_cache_distrust(struct stk_cache *cache, const struct stk_place *place)
{
    if (cache->catalogue.header != NULL) {
        stk_trust_end(cache, place->key);
    }
}

void stk_cache_distrust_inode(struct stk_cache *cache, const struct stat *stat)
{
    if (cache->catalogue.header != NULL) {
        stk_trust_end_inode(cache, stat->st_dev, stat->st_ino);
    }
}

void stk_cache_distrust_root(struct stk_cache *cache, const struct stk_root *root)
{
    if (cache->catalogue.header == NULL) {
        return;
    }
    _Atomic int64_t *slot = &cache->catalogue.header->distrusted_ns[root->key % STK_DISTRUST_SLOTS];
    int64_t now = stk_clock_boottime_ns();
    int64_t seen = atomic_load(slot);
    while (seen < now && !atomic_compare_exchange_weak(slot, &seen, now)) {
    }
}
