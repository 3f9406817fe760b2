/* What the program does to its files. See cache/cache.h. */
#include <string.h>

#include "cache/cache.h"
#include "cache/changes.h"
#include "cache/listing.h"

void stk_cache_mark_written(struct stk_cache *cache, const struct stk_place *place,
                            struct stk_mark *mark)
{
    *mark = (struct stk_mark){0, 0, 0};
    if (cache->catalogue.header != NULL) {
        stk_changes_note(&cache->catalogue, place->key.low, STK_WRITTEN, mark);
    }
}

void stk_cache_unmark_written(struct stk_cache *cache, const struct stk_mark *mark)
{
    if (cache->catalogue.header != NULL) {
        stk_changes_take_back(&cache->catalogue, mark);
    }
}

static void note_inode(struct stk_cache *cache, const struct stat *stat, enum stk_changes_kind kind)
{
    if (cache->catalogue.header != NULL && (S_ISREG(stat->st_mode) || S_ISDIR(stat->st_mode))) {
        uint64_t inode = stk_changes_inode(stat->st_dev, stat->st_ino);
        stk_changes_note(&cache->catalogue, inode, kind, NULL);
    }
}

void stk_cache_mark_inode(struct stk_cache *cache, const struct stat *stat)
{
    note_inode(cache, stat, STK_WRITTEN);
}

void stk_cache_distrust_inode(struct stk_cache *cache, const struct stat *stat)
{
    note_inode(cache, stat, STK_CHANGED);
}

static void distrust(struct stk_cache *cache, uint64_t hash)
{
    if (cache->catalogue.header != NULL) {
        stk_changes_note(&cache->catalogue, hash, STK_CHANGED, NULL);
    }
}

void stk_cache_distrust(struct stk_cache *cache, const struct stk_place *place)
{
    distrust(cache, place->key.low);
    distrust(cache, stk_listing_key(place->root, place->below, strlen(place->below)).low);
}

/* Its path is what comes before the leaf. */
void stk_cache_distrust_listing(struct stk_cache *cache, const struct stk_place *place)
{
    size_t length = (size_t)(stk_path_leaf(place->below) - place->below);
    distrust(cache, stk_listing_key(place->root, place->below, length > 0 ? length - 1 : 0).low);
}

void stk_cache_distrust_all(struct stk_cache *cache)
{
    distrust(cache, STK_CHANGES_EVERYTHING);
}

void stk_cache_mark_all_written(struct stk_cache *cache)
{
    if (cache->catalogue.header != NULL) {
        stk_changes_note(&cache->catalogue, STK_CHANGES_EVERYTHING, STK_WRITTEN, NULL);
    }
}
