/* Answers opens and stats: the readers' side. See cache/cache.h. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cache/cache.h"
#include "cache/catalogue/claim.h"
#include "cache/listing/listing.h"
#include "cache/origin/entry_name.h"
#include "cache/version/drop.h"
#include "cache/version/entry_build.h"
#include "cache/version/freshness.h"

#define ATTEMPTS 8

/* Reasons that hold whatever the origin would say now: going there is always right. */
static enum stk_bypass standing_reason(struct stk_cache *cache, const struct stk_record *record,
                                       struct stk_claim claim, enum stk_freshness freshness)
{
    if (freshness == STK_FRESHNESS_WRITTEN) {
        return STK_BYPASS_WRITTEN;
    }
    bool large = record->size > (uint64_t)cache->options.max_file_bytes &&
                 claim.state != STK_PRESENT; /* then all its blocks have come */
    if ((record->size == 0 || large) && freshness == STK_FRESHNESS_FRESH) {
        return large ? STK_BYPASS_LARGE : STK_BYPASS_EMPTY; /* else it may have become another */
    }
    if (claim.state == STK_REFUSED && claim.detail == stk_claim_sparse_in(cache->run_start_ns)) {
        return STK_BYPASS_SPARSE;
    }
    return stk_entry_build_refusal(cache, claim);
}

static bool name_entry(struct stk_cache *cache, const struct stk_place *place,
                       const struct stk_record *record, unsigned index, char *entry)
{
    struct stk_tier tier;
    const struct stk_root_tree *tree = &place->root->trees[index];
    if (tree->path != NULL) {
        return stk_entry_path_in(entry, tree->path, tree->length, place->below,
                                 stk_record_name(record));
    }
    return stk_tier_by_index(&cache->catalogue, index, &tier) &&
           stk_entry_path(entry, tier.home, place->root, place->below, stk_record_name(record));
}

static enum stk_answer answer_present(struct stk_cache *cache, const struct stk_place *place,
                                      const struct stk_record *record, struct stk_claim claim,
                                      struct stk_lookup *lookup)
{
    lookup->plain_leaf = claim.leaf == STK_LEAF_PLAIN;
    lookup->tier = claim.tier;
    return name_entry(cache, place, record, claim.tier, lookup->entry) ? STK_ANSWER_HIT
                                                                       : STK_ANSWER_FILL;
}

/* Answers for a file without a record. */
static enum stk_answer answer_unknown(struct stk_cache *cache, const struct stk_place *place,
                                      struct stk_lookup *lookup)
{
    bool written = stk_freshness_is_written(cache, place);
    lookup->why = written ? STK_BYPASS_WRITTEN : STK_BYPASS_NONE;
    return written ? STK_ANSWER_ORIGIN : STK_ANSWER_FILL;
}

/*
 * Each round decides by what is there then; a wait or a look at the origin leads to another round,
 * of which there are ATTEMPTS at most:
 *
 *   record  standing reason  claim            freshness   then
 *   none                                                  FILL; ORIGIN if it was written
 *   found   yes                                           ORIGIN
 *   found   no               absent, refused              FILL
 *   found   no               present          fresh       HIT, also after a look of this call
 *   found   no               present          revalidate  look: FILL if it is gone, else a round
 *   found   no               filling                      wait: FILL if it stops, else a round
 */
enum stk_answer stk_cache_lookup(struct stk_cache *cache, const struct stk_place *place,
                                 struct stk_lookup *lookup)
{
    bool asked = false;
    lookup->why = STK_BYPASS_CATALOGUE;
    lookup->record = 0;
    lookup->size = 0;
    lookup->began_ns = 0;
    lookup->awaited = false;
    if (place->root->kind == STK_ROOT_MEMORY) {
        lookup->why = STK_BYPASS_ORIGIN;
        return STK_ANSWER_ORIGIN;
    }
    for (int i = 0; i < ATTEMPTS && cache->catalogue.header != NULL; i++) {
        lookup->record = stk_catalogue_find(&cache->catalogue, place->key);
        struct stk_record *record = stk_catalogue_record(&cache->catalogue, lookup->record);
        if (record == NULL) {
            return answer_unknown(cache, place, lookup);
        }
        struct stk_claim claim = stk_claim_load(&record->claim);
        enum stk_freshness freshness = stk_freshness_of(cache, record);
        lookup->size = record->size;
        lookup->why = standing_reason(cache, record, claim, freshness);
        if (lookup->why != STK_BYPASS_NONE) {
            return STK_ANSWER_ORIGIN;
        }
        if (claim.state == STK_ABSENT || claim.state == STK_REFUSED) {
            return STK_ANSWER_FILL;
        }
        if (claim.state == STK_PRESENT && (asked || freshness == STK_FRESHNESS_FRESH)) {
            return answer_present(cache, place, record, claim, lookup);
        }
        lookup->began_ns = lookup->began_ns != 0 ? lookup->began_ns : stk_clock_boottime_ns();
        if (claim.state == STK_FILLING) {
            lookup->awaited = true;
            if (!stk_claim_wait(&record->claim)) {
                return STK_ANSWER_FILL;
            }
        } else {
            asked = stk_freshness_validate(cache, place) != 0;
            if (!asked) {
                return STK_ANSWER_FILL; /* gone, or no file any more: the real open says which */
            }
        }
    }
    return STK_ANSWER_ORIGIN;
}

void stk_cache_lost(struct stk_cache *cache, const struct stk_lookup *lookup)
{
    stk_drop_entry(cache, lookup->record, lookup->entry);
}

void stk_cache_count(struct stk_cache *cache, const struct stk_outcome *outcome)
{
    bool bypassed = outcome->kind == STK_COUNT_OPENS;
    if (bypassed && outcome->why == STK_BYPASS_NONE) {
        return;
    }
    unsigned epoch = stk_run_count_open(&cache->run, &(struct stk_run_open_counts){
                                                         .record = outcome->record,
                                                         .kind = outcome->kind,
                                                         .fetched = outcome->fetched,
                                                         .awaited = outcome->awaited,
                                                         .tier = outcome->tier,
                                                         .bytes = outcome->size,
                                                         .wait_ns = outcome->wait_ns,
                                                     });
    if (bypassed) {
        stk_run_count_bypass(&cache->run, outcome->why, epoch == 0 ? outcome->size : 0);
    }
}

bool stk_cache_is_known(struct stk_cache *cache, const struct stk_place *place)
{
    return cache->catalogue.header != NULL &&
           stk_catalogue_find(&cache->catalogue, place->key) != 0;
}

uint64_t stk_cache_writings(const struct stk_cache *cache)
{
    return cache->catalogue.header != NULL ? atomic_load(&cache->catalogue.header->writings) : 0;
}

bool stk_cache_is_written(struct stk_cache *cache, const struct stk_place *place,
                          const struct stat *stat)
{
    return cache->catalogue.header != NULL &&
           (stk_freshness_is_written(cache, place) ||
            stk_freshness_is_inode_written(cache, stat->st_dev, stat->st_ino));
}

/* ---- metadata ---- */

/* The current record of a key if nothing speaks against believing it. */
static struct stk_record *believable(struct stk_cache *cache, struct stk_hash128 key,
                                     struct stk_claim *claim)
{
    if (cache->catalogue.header == NULL) {
        return NULL;
    }
    uint32_t number = stk_catalogue_find(&cache->catalogue, key);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return NULL;
    }
    *claim = stk_claim_load(&record->claim);
    return stk_freshness_of(cache, record) == STK_FRESHNESS_FRESH ? record : NULL;
}

/* Returns the directory's record of this name if it is fresh. Where the mount makes inode numbers
 * up, programs that walk compare lstat's answer with fstat of the opened directory, which is the
 * kernel's. */
static struct stk_record *believable_directory(struct stk_cache *cache,
                                               const struct stk_place *place, bool nofollow,
                                               struct stk_claim *claim)
{
    struct stk_hash128 key = stk_listing_key(place->root, place->below, strlen(place->below));
    return nofollow && !place->root->inode_counts ? NULL : believable(cache, key, claim);
}

bool stk_cache_stat(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                    struct stk_identity *out)
{
    struct stk_claim claim;
    const struct stk_record *record = believable(cache, place->key, &claim);
    if (record == NULL) {
        record = believable_directory(cache, place, nofollow, &claim);
    }
    if (record == NULL || (nofollow && claim.leaf != STK_LEAF_PLAIN) ||
        !stk_record_get_identity(record, out)) {
        return false;
    }
    stk_run_count(&cache->run, STK_RUN_COUNTER(stats_served), 1);
    return true;
}

/* Returns true for a place on a file system that is not local, of which neither a record nor a
 * listing is known. The look then asks about this file alone, and not about its directory. */
static bool is_first(struct stk_cache *cache, const struct stk_place *place)
{
    return !stk_root_is_local(place->root) && !stk_cache_is_known(cache, place) &&
           !stk_listing_is_known(cache, place);
}

int stk_cache_stat_origin(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                          struct statx *out)
{
    struct stk_look look;
    if (cache->catalogue.header == NULL || cache->options.fresh == STK_FRESH_OPEN) {
        return -EAGAIN;
    }
    if (stk_listing_lacks(cache, place)) {
        stk_run_count(&cache->run, STK_RUN_COUNTER(stats_served), 1);
        return -ENOENT;
    }
    int error = is_first(cache, place) ? stk_freshness_look_first(cache, place, nofollow, &look)
                                       : stk_freshness_look(cache, place, nofollow, &look);
    if (error == 0) {
        stk_freshness_remember(cache, place, &look);
        stk_listing_learn(cache, place, &look);
        *out = look.answer;
    }
    return error;
}

bool stk_cache_is_absent(struct stk_cache *cache, const struct stk_place *place)
{
    return cache->catalogue.header != NULL && cache->options.fresh != STK_FRESH_OPEN &&
           !stk_cache_is_known(cache, place) && stk_listing_lacks(cache, place);
}

bool stk_cache_is_readable(struct stk_cache *cache, const struct stk_place *place)
{
    struct stk_claim claim;
    return believable(cache, place->key, &claim) != NULL && claim.state == STK_PRESENT;
}

bool stk_cache_stat_entry(struct stk_cache *cache, uint32_t number, uint64_t entry_ino,
                          struct stk_identity *out)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    return record != NULL && atomic_load(&record->entry_ino) == entry_ino &&
           stk_freshness_is_untouched(cache, record) && stk_record_get_identity(record, out);
}

/* The record of this version: the current one of the place, or one before it. */
static uint32_t find_version(struct stk_cache *cache, struct stk_hash128 key, uint64_t name)
{
    uint32_t number = stk_catalogue_find(&cache->catalogue, key);
    for (int i = 0; i < 64; i++) {
        const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
        if (record == NULL) {
            return 0;
        }
        if (stk_record_name(record) == name) {
            return number;
        }
        number = record->previous;
    }
    return 0;
}

static bool parse_entry(struct stk_cache *cache, const char *entry, struct stk_entry_parts *parts)
{
    struct stk_tier tier;
    for (unsigned i = 0; i < STK_TIERS; i++) {
        if (stk_tier_by_index(&cache->catalogue, i, &tier) &&
            stk_entry_parse(entry, tier.home, parts)) {
            return true;
        }
    }
    return false;
}

/* Returns the key of a file, or of a directory, whose path has nothing behind the last slash. */
static struct stk_hash128 key_of(const struct stk_root *root, const struct stk_entry_parts *parts)
{
    const char *below = stk_root_below(root, parts->file);
    size_t length = strlen(below);
    return parts->listing ? stk_listing_key(root, below, length > 0 ? length - 1 : 0)
                          : stk_hash_path(below, length, root->key);
}

static uint32_t find_parts(struct stk_cache *cache, const struct stk_root *root,
                           const struct stk_entry_parts *parts)
{
    return find_version(cache, key_of(root, parts), parts->name);
}

bool stk_cache_find_entry(struct stk_cache *cache, const char *entry, char origin[STK_PATH_BYTES],
                          uint32_t *record)
{
    struct stk_entry_parts parts;
    if (cache->catalogue.header == NULL || !parse_entry(cache, entry, &parts) || parts.listing) {
        return false;
    }
    const struct stk_root *root = stk_roots_by_name(&cache->roots, parts.file);
    origin[0] = '\0';
    *record = root != NULL ? find_parts(cache, root, &parts) : 0;
    return root == NULL || stk_text_print(origin, STK_PATH_BYTES, "%s/%s", root->prefix,
                                          stk_root_below(root, parts.file));
}

bool stk_cache_is_superseded(struct stk_cache *cache, const char *entry)
{
    struct stk_entry_parts parts;
    if (cache->catalogue.header == NULL || !parse_entry(cache, entry, &parts)) {
        return false;
    }
    const struct stk_root *root = stk_roots_by_name(&cache->roots, parts.file);
    if (root == NULL) {
        return false;
    }
    struct stk_hash128 key = key_of(root, &parts);
    const struct stk_record *record =
        stk_catalogue_record(&cache->catalogue, stk_catalogue_find(&cache->catalogue, key));
    return record != NULL && stk_record_name(record) != parts.name &&
           (stk_claim_load(&record->claim).state == STK_REFUSED ||
            stk_freshness_of(cache, record) == STK_FRESHNESS_FRESH);
}

/* An identity alone does not give the name of a version on another volume than its root's. The
 * record has that version's identity. */
enum stk_likeness stk_cache_compare_entry(struct stk_cache *cache, const char *entry,
                                          const struct stk_identity *found)
{
    struct stk_entry_parts parts;
    struct stk_identity known;
    if (cache->catalogue.header == NULL || !parse_entry(cache, entry, &parts)) {
        return STK_ANOTHER_FILE;
    }
    const struct stk_root *root = stk_roots_by_name(&cache->roots, parts.file);
    if (root == NULL) {
        return STK_ANOTHER_FILE;
    }
    if (found->dev == root->dev && stk_identity_name(found, root->inode_counts, 0) == parts.name) {
        return STK_SAME_VERSION;
    }
    const struct stk_record *record =
        stk_catalogue_record(&cache->catalogue, find_parts(cache, root, &parts));
    if (record == NULL || !stk_record_get_identity(record, &known) ||
        !stk_identity_same_file(found, &known)) {
        return STK_ANOTHER_FILE;
    }
    return stk_identity_same_version(found, &known) ? STK_SAME_VERSION : STK_SAME_FILE;
}
