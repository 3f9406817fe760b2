/* Finds the listing that may be served. See cache/listing/listing.h. */
#include "cache/listing/listing_parts.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cache/origin/entry_name.h"
#include "cache/version/drop.h"
#include "cache/version/freshness.h"
#include "cache/version/versions.h"

bool stk_listing_may(const struct stk_cache *cache, const struct stk_place *directory)
{
    return cache->catalogue.header != NULL && cache->tier.shared != NULL &&
           cache->options.listings != STK_LISTINGS_OFF && directory->root->kind != STK_ROOT_MEMORY;
}

bool stk_listing_is_told_by_times(const struct stk_cache *cache, const struct stk_place *directory)
{
    return stk_root_keeps_times(directory->root) || cache->options.listings == STK_LISTINGS_MTIME;
}

/* A directory on another device than its root's (behind a link, or where something was mounted
 * since) is the origin's. */
bool stk_listing_identify(const struct stk_place *directory, const struct statx *answer,
                          struct stk_identity *out)
{
    return S_ISDIR(answer->stx_mode) && stk_identity_from_statx(out, answer) &&
           out->dev == directory->root->dev && stk_root_is_there(directory->root);
}

/* Returns the record of the version that a look has found, or 0 if a later version might look the
 * same: this one is too young. */
uint32_t stk_listing_remember(struct stk_cache *cache, const struct stk_place *directory,
                              const struct stk_identity *identity)
{
    if (stk_freshness_is_young(cache, identity)) {
        stk_freshness_forget(cache, directory, identity);
        return 0;
    }
    return stk_versions_remember(cache, directory, identity);
}

static uint32_t learn(struct stk_cache *cache, const struct stk_place *directory,
                      const struct stk_look *look)
{
    struct stk_identity identity;
    uint32_t number = stk_listing_identify(directory, &look->answer, &identity)
                          ? stk_listing_remember(cache, directory, &identity)
                          : 0;
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL) {
        stk_claim_set_leaf(&record->claim, look->leaf);
        if (look->asked_ns != 0) {
            stk_freshness_note(cache, record, &identity, look->asked_ns);
        }
    }
    return record != NULL ? number : 0;
}

void stk_listing_leave_note(struct stk_cache *cache, const struct stk_place *directory,
                            uint32_t number)
{
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
    struct stk_revalidation_queue *queued = stk_run_revalidation_queue(&cache->run);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || !stk_text_print(below, sizeof below, "%s.", directory->below) ||
        directory->below[0] == '\0' || stk_claim_load(&record->claim).state != STK_PRESENT ||
        cache->options.fresh != STK_FRESH_RUN) {
        return;
    }
    struct stk_revalidation_queue_slot *slot =
        stk_revalidation_queue_reserve(queued, directory->root, below);
    if (slot != NULL) {
        stk_revalidation_queue_put(queued, slot);
    }
}

bool stk_listing_is_known(struct stk_cache *cache, const struct stk_place *place)
{
    struct stk_hash128 key = stk_listing_key(place->root, place->below, strlen(place->below));
    return stk_listing_may(cache, place) && stk_listing_is_told_by_times(cache, place) &&
           stk_catalogue_find(&cache->catalogue, key) != 0;
}

/* Apart for its stack. */
__attribute__((noinline)) void stk_listing_learn(struct stk_cache *cache,
                                                 const struct stk_place *place,
                                                 const struct stk_look *look)
{
    struct stk_place directory = *place;
    size_t length = strlen(directory.below);
    if (!S_ISDIR(look->answer.stx_mode) || !stk_listing_may(cache, place) ||
        !stk_listing_is_told_by_times(cache, place) || length + 2 > sizeof directory.below) {
        return;
    }
    directory.key = stk_listing_key(place->root, place->below, length);
    directory.below[length] = '/';
    directory.below[length + 1] = '\0';
    stk_listing_leave_note(cache, &directory, learn(cache, &directory, look));
}

/* Looks at the directory's times once. Returns true if they are the record's. */
bool stk_listing_validate(struct stk_cache *cache, const struct stk_place *directory,
                          uint32_t wanted)
{
    struct stk_look look;
    return stk_listing_is_told_by_times(cache, directory) &&
           stk_freshness_look(cache, directory, false, &look) == 0 &&
           learn(cache, directory, &look) == wanted;
}

static bool name_entry(struct stk_cache *cache, const struct stk_place *directory,
                       const struct stk_record *record, unsigned index, char *entry)
{
    struct stk_tier tier;
    return stk_tier_by_index(&cache->catalogue, index, &tier) &&
           stk_entry_path(entry, tier.home, directory->root, directory->below,
                          stk_record_name(record));
}

void stk_listing_tell_whose(const struct stk_record *record, uint32_t number,
                            struct stk_listing *out)
{
    out->dev = stk_record_dev(record);
    out->ino = atomic_load(&record->ino);
    out->inode_counts = record->inode_changes == 0;
    out->record = number;
}

/* Drops a missing or damaged listing, so that it will be made again. */
bool stk_listing_serve(struct stk_cache *cache, const struct stk_place *directory, uint32_t number,
                       off_t most, struct stk_listing *out)
{
    char entry[STK_PATH_BYTES];
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    unsigned tier = stk_claim_load(&record->claim).tier;
    if (!name_entry(cache, directory, record, tier, entry)) {
        return false;
    }
    int error = stk_listing_load(entry, stk_listing_whose(directory), most, out);
    if (error == -ENOENT || error == -EINVAL) {
        stk_drop_entry(cache, number, entry);
    }
    stk_listing_tell_whose(record, number, out);
    return error == 0;
}

/* Waits for a filler, if there is one. */
struct stk_claim stk_listing_await_claim(struct stk_record *record)
{
    struct stk_claim claim = stk_claim_load(&record->claim);
    if (claim.state == STK_FILLING) {
        stk_claim_wait(&record->claim);
        claim = stk_claim_load(&record->claim);
    }
    return claim;
}

bool stk_listing_is_last(struct stk_cache *cache, const struct stk_place *directory,
                         const struct stk_listing *listing)
{
    uint32_t number = stk_catalogue_find(&cache->catalogue, directory->key);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    int64_t seen = record != NULL ? atomic_load(&record->validated_ns) : 0;
    int64_t looked_ns = seen < 0 ? -seen : seen; /* or read, and to be looked at */
    return number == listing->record && looked_ns >= cache->run_start_ns && looked_ns != 0 &&
           cache->options.fresh != STK_FRESH_OPEN && stk_freshness_is_unmarked(cache, record);
}

static bool validate(struct stk_cache *cache, const struct stk_place *directory, uint32_t number)
{
    bool same = stk_listing_validate(cache, directory, number);
    if (same) {
        stk_listing_leave_note(cache, directory, number);
    }
    return same;
}

bool stk_listing_find(struct stk_cache *cache, const struct stk_place *directory,
                      struct stk_listing *out)
{
    out->map = NULL;
    if (!stk_listing_may(cache, directory)) {
        return false;
    }
    uint32_t number = stk_catalogue_find(&cache->catalogue, directory->key);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || stk_listing_await_claim(record).state != STK_PRESENT) {
        return false;
    }
    enum stk_freshness freshness = stk_freshness_of(cache, record);
    return freshness != STK_FRESHNESS_WRITTEN &&
           (freshness == STK_FRESHNESS_FRESH || validate(cache, directory, number)) &&
           stk_listing_serve(cache, directory, number, STK_LISTING_MOST_BYTES, out);
}
