/* Looks at directories whose check was put off. See cache/listing/listing.h. */
#include "cache/listing/listing_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "cache/version/freshness.h"

#define BESIDE     16        /* that are looked at for one that a process had to ask for */
#define MOST_BYTES (1 << 20) /* of a listing that is looked through for them */

bool stk_listing_is_queued(const char *below)
{
    const char *leaf = stk_path_leaf(below);
    return *leaf == '\0' || strcmp(leaf, ".") == 0;
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
                     const char *leaf, char absolute[STK_PATH_BYTES], struct stk_place *out)
{
    struct stk_text text = stk_text_in(absolute, STK_PATH_BYTES);
    stk_text_add(&text, root->prefix);
    stk_text_add_char(&text, '/');
    stk_text_add(&text, below);
    stk_text_add(&text, leaf);
    return !text.cut && stk_cache_place_directory(cache, absolute, AT_FDCWD, absolute, out) &&
           out->root->key == root->key;
}

/* Another thread takes it, if there is room for it. */
static void pass_on(struct stk_cache *cache, const struct stk_place *directory, uint32_t number)
{
    struct stk_revalidation_queue *queued = stk_run_revalidation_queue(&cache->run);
    struct stk_revalidation_queue_slot *slot =
        stk_revalidation_queue_reserve(queued, directory->root, directory->below);
    if (slot != NULL) {
        stk_revalidation_queue_put(queued, slot);
    } else {
        revalidate(cache, directory, number);
    }
}

/* Takes a directory that an earlier run has listed, and that no process has looked at since. The
 * record then forgets when it was last validated, which shows that it is taken. */
static bool take(struct stk_cache *cache, struct stk_record *record)
{
    int64_t seen = record != NULL ? atomic_load(&record->validated_ns) : 0;
    return seen > 0 && stk_claim_load(&record->claim).state == STK_PRESENT &&
           stk_freshness_of(cache, record) == STK_FRESHNESS_REVALIDATE &&
           atomic_compare_exchange_strong(&record->validated_ns, &seen, 0);
}

static __attribute__((noinline)) bool look_at(struct stk_cache *cache,
                                              const struct stk_place *above, const char *name)
{
    char absolute[STK_PATH_BYTES];
    struct stk_place directory;
    if (!place_at(cache, above->root, above->below, name, absolute, &directory)) {
        return false;
    }
    uint32_t number = stk_catalogue_find(&cache->catalogue, directory.key);
    bool wanted = take(cache, stk_catalogue_record(&cache->catalogue, number));
    if (wanted) {
        pass_on(cache, &directory, number);
    }
    return wanted;
}

/* From behind one name round to it again. */
static void look_from(struct stk_cache *cache, const struct stk_place *above,
                      const struct stk_listing *listing, const char *leaf)
{
    unsigned looked = 0;
    bool behind = false;
    for (unsigned round = 0; round < 2; round++) {
        size_t at = 0;
        const struct stk_listing_name *name;
        while (looked < BESIDE && (name = stk_listing_at(listing, &at)) != NULL) {
            bool same = strcmp(name->name, leaf) == 0;
            if (same && round == 1) {
                return;
            }
            behind = behind || same;
            if (behind && !same && name->type != DT_REG && name->name[0] != '.') {
                looked += look_at(cache, above, name->name);
            }
        }
    }
}

static void look_beside(struct stk_cache *cache, const struct stk_root *root, char *below)
{
    char absolute[STK_PATH_BYTES];
    struct stk_place above;
    struct stk_listing listing = {.map = NULL};
    below[strlen(below) - 1] = '\0'; /* the slash */
    char *leaf = below + (stk_path_leaf(below) - below);
    char name[STK_REVALIDATION_QUEUE_PATH_BYTES];
    stk_text_copy(name, sizeof name, leaf);
    *leaf = '\0';
    if (!place_at(cache, root, below, "", absolute, &above)) {
        return;
    }
    uint32_t number = stk_catalogue_find(&cache->catalogue, above.key);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL && stk_claim_load(&record->claim).state == STK_PRESENT &&
        stk_listing_serve(cache, &above, number, MOST_BYTES, &listing)) {
        look_from(cache, &above, &listing, name);
        stk_listing_close(&listing);
    }
}

void stk_listing_revalidate(struct stk_cache *cache, const struct stk_root *root, const char *below)
{
    char absolute[STK_PATH_BYTES], path[STK_REVALIDATION_QUEUE_PATH_BYTES];
    struct stk_place directory;
    stk_text_copy(path, sizeof path, below);
    size_t length = strlen(path);
    if (length > 1 && path[length - 1] == '.') {
        path[length - 1] = '\0';
        look_beside(cache, root, path);
    } else if (place_at(cache, root, path, "", absolute, &directory)) {
        revalidate(cache, &directory, stk_catalogue_find(&cache->catalogue, directory.key));
    }
}
