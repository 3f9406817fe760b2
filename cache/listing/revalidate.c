/* Looks at directories whose check was put off. See cache/listing/listing.h. */
#include "cache/listing/listing_parts.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "cache/version/freshness.h"

bool stk_listing_is_queued(const char *below)
{
    return *stk_path_leaf(below) == '\0' || stk_listing_is_note(below);
}

bool stk_listing_is_note(const char *below)
{
    return strcmp(stk_path_leaf(below), ".") == 0;
}

/* Finds out if the path leads to the directory whose listing was read by a descriptor. */
static void look_where_it_is(struct stk_cache *cache, const struct stk_place *directory,
                             struct stk_record *record)
{
    struct stk_look look;
    struct stk_identity listed, found;
    int64_t seen = atomic_load(&record->validated_ns);
    if (seen < 0 && stk_record_get_identity(record, &listed) &&
        stk_freshness_look(cache, directory, false, &look) == 0 &&
        stk_listing_identify(directory, &look.answer, &found) && found.ino == listed.ino) {
        stk_freshness_note(cache, record, &listed, -seen);
    }
}

static void revalidate(struct stk_cache *cache, const struct stk_place *directory, uint32_t number)
{
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || stk_freshness_of(cache, record) != STK_FRESHNESS_REVALIDATE) {
        return;
    }
    if (stk_listing_is_told_by_times(cache, directory)) {
        stk_listing_validate(cache, directory, number);
    } else {
        look_where_it_is(cache, directory, record);
    }
}

/* The directory at a path below a root, by a path that is written to `absolute`. */
static bool place_at(struct stk_cache *cache, const struct stk_root *root, const char *below,
                     char absolute[STK_PATH_BYTES], struct stk_place *out)
{
    return stk_text_print(absolute, STK_PATH_BYTES, "%s/%s", root->prefix, below) &&
           stk_cache_place_directory(cache, absolute, AT_FDCWD, absolute, out) &&
           out->root->key.low == root->key.low;
}

void stk_listing_revalidate(struct stk_cache *cache, const struct stk_root *root, const char *below)
{
    char absolute[STK_PATH_BYTES];
    struct stk_place directory;
    if (place_at(cache, root, below, absolute, &directory)) {
        revalidate(cache, &directory, stk_catalogue_find(&cache->catalogue, directory.key));
    }
}
