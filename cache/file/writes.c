/* Notes what the program does to its files. See cache/cache.h. */
#include <string.h>

#include "cache/cache.h"
#include "cache/catalogue/changes.h"
#include "cache/version/freshness.h"

static void note(struct stk_cache *cache, uint64_t hash, enum stk_changes_kind kind)
{
    if (cache->catalogue.header != NULL) {
        stk_changes_note(&cache->catalogue, hash, kind, NULL);
    }
}

/* Notes a change in this catalogue, and sends it to the runs that the process cannot join. The hash
 * is equal in all processes. */
static void note_everywhere(struct stk_cache *cache, uint64_t hash, enum stk_changes_kind kind)
{
    note(cache, hash, kind);
    stk_notices_tell(&cache->notices, hash, kind);
}

/* Returns true if other runs have to learn of this process's changes. Their keys of a path differ.
 */
static bool has_others(const struct stk_cache *cache)
{
    return cache->notices.count > 0 || cache->outer.count > 0;
}

/* Sends a change to other runs where a mount makes inode numbers up. Such a file is known by its
 * path only, and other runs have other keys for that path: for them everything has changed. */
static void note_for_others(struct stk_cache *cache, const struct stk_root *root,
                            enum stk_changes_kind kind)
{
    if (has_others(cache) && !root->inode_counts) {
        note_everywhere(cache, STK_CHANGES_EVERYTHING, kind);
    }
}

bool stk_cache_mark_written(struct stk_cache *cache, const struct stk_place *place,
                            struct stk_mark *mark)
{
    bool first = false;
    *mark = (struct stk_mark){0, 0, 0};
    if (cache->catalogue.header != NULL) {
        first = !stk_freshness_is_written(cache, place);
        stk_changes_note(&cache->catalogue, place->key.low, STK_WRITTEN, mark);
    }
    note_for_others(cache, place->root, STK_CHANGED);
    return first;
}

void stk_cache_unmark_written(struct stk_cache *cache, const struct stk_mark *mark)
{
    if (cache->catalogue.header != NULL) {
        stk_changes_take_back(&cache->catalogue, mark);
    }
}

static void note_device_for_others(struct stk_cache *cache, const struct stk_roots *roots,
                                   dev_t dev, enum stk_changes_kind kind)
{
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        if (root->usable && root->dev == dev && !root->inode_counts) {
            note_for_others(cache, root, kind);
            return;
        }
    }
}

static void note_inode(struct stk_cache *cache, const struct stat *stat, enum stk_changes_kind kind)
{
    if (S_ISREG(stat->st_mode) || S_ISDIR(stat->st_mode)) {
        note_everywhere(cache, stk_changes_inode(stat->st_dev, stat->st_ino), kind);
        if (has_others(cache)) {
            note_device_for_others(cache, &cache->roots, stat->st_dev, kind);
            note_device_for_others(cache, &cache->outer, stat->st_dev, kind);
        }
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

void stk_cache_distrust(struct stk_cache *cache, const struct stk_place *place)
{
    note(cache, place->key.low, STK_CHANGED);
    note(cache, stk_listing_key(place->root, place->below, strlen(place->below)).low, STK_CHANGED);
    note_for_others(cache, place->root, STK_CHANGED);
}

/* Its path is what comes before the leaf. */
void stk_cache_distrust_listing(struct stk_cache *cache, const struct stk_place *place)
{
    size_t length = (size_t)(stk_path_leaf(place->below) - place->below);
    length = length > 0 ? length - 1 : 0;
    note(cache, stk_listing_key(place->root, place->below, length).low, STK_CHANGED);
    note_for_others(cache, place->root, STK_CHANGED);
}

void stk_cache_distrust_all(struct stk_cache *cache)
{
    note_everywhere(cache, STK_CHANGES_EVERYTHING, STK_CHANGED);
}

void stk_cache_mark_all_written(struct stk_cache *cache)
{
    note_everywhere(cache, STK_CHANGES_EVERYTHING, STK_WRITTEN);
}
