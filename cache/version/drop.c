#include "cache/version/drop.h"

#include <fcntl.h>

#include "base/sys.h"
#include "cache/catalogue/claim.h"
#include "cache/origin/entry_name.h"
#include "cache/tier/sample_quota.h"

/* Returns what the entry takes: its size, as it was reserved, or more if the file system took more.
 * The size of a directory is not that of its listing. */
static int64_t blocks_of(const struct stk_record *record, const struct stk_tier *tier,
                         const char *entry)
{
    struct stat stat;
    int64_t blocks =
        S_ISDIR(record->mode) ? 0 : stk_budget_blocks_of(record->size, tier->shared->block_bytes);
    bool known = stk_sys_fstatat(AT_FDCWD, entry, &stat, AT_SYMLINK_NOFOLLOW) == 0;
    return known && stat.st_blocks > blocks ? stat.st_blocks : blocks;
}

/* An entry on its way out. */
struct drop {
    struct stk_record *record;
    struct stk_tier tier;
    int64_t blocks; /* what it took; 0: another process has unlinked it */
};

/* The tier of a record's entry; false: it has none. */
static bool find_entry(struct stk_catalogue *catalogue, uint32_t number, struct drop *drop,
                       struct stk_claim *seen)
{
    drop->record = stk_catalogue_record(catalogue, number);
    if (drop->record == NULL) {
        return false;
    }
    *seen = stk_claim_load(&drop->record->claim);
    return seen->state == STK_PRESENT && stk_tier_by_index(catalogue, seen->tier, &drop->tier);
}

/* Holds the claim while the entry goes, as a fill does, for the caller to end. Otherwise another
 * process might adopt the entry in that moment, and then give its budget back a second time. */
static bool unlink_entry(struct drop *drop, struct stk_claim seen, const char *entry)
{
    if (!stk_claim_take(&drop->record->claim, seen)) {
        return false;
    }
    atomic_store(&drop->record->entry_ino, 0);
    drop->blocks = blocks_of(drop->record, &drop->tier, entry);
    if (stk_sys_unlinkat(AT_FDCWD, entry, 0) != 0) {
        drop->blocks = 0;
    }
    return true;
}

int64_t stk_drop_transient(struct stk_catalogue *catalogue, uint32_t number, const char *entry)
{
    struct drop drop = {.blocks = 0};
    struct stk_claim seen;
    if (find_entry(catalogue, number, &drop, &seen) && unlink_entry(&drop, seen, entry)) {
        stk_claim_finish(&drop.record->claim, STK_ABSENT, 0, 0);
    }
    return drop.blocks;
}

void stk_drop_entry(struct stk_cache *cache, uint32_t number, const char *entry)
{
    struct drop drop;
    struct stk_claim seen;
    if (find_entry(&cache->catalogue, number, &drop, &seen) && unlink_entry(&drop, seen, entry)) {
        if (drop.blocks > 0) {
            stk_tier_free(drop.tier.shared, drop.blocks, 1);
        }
        stk_claim_finish(&drop.record->claim, STK_ABSENT, 0, 0);
    }
}

/* On a disk the entry outlives the store. */
bool stk_drop_is_wanted(struct stk_cache *cache, uint32_t number)
{
    struct drop drop;
    struct stk_claim seen;
    return find_entry(&cache->catalogue, number, &drop, &seen) && drop.tier.shared->memory != 0 &&
           stk_sample_quota_find_wanting(&drop.tier) != NULL;
}

bool stk_drop_for_samples(struct stk_cache *cache, uint32_t number, const char *entry)
{
    struct drop drop;
    struct stk_claim seen;
    if (!find_entry(&cache->catalogue, number, &drop, &seen) || drop.tier.shared->memory == 0) {
        return false;
    }
    struct stk_sample_quota *quota = stk_sample_quota_find_wanting(&drop.tier);
    if (quota == NULL || !unlink_entry(&drop, seen, entry)) {
        return false;
    }
    if (drop.blocks > 0) {
        stk_sample_quota_add(&drop.tier, quota, drop.blocks);
        stk_run_count(&cache->run, STK_RUN_COUNTER(given_up), 1);
        stk_run_count(&cache->run, STK_RUN_COUNTER(given_up_bytes), drop.record->size);
    }
    stk_claim_finish(&drop.record->claim, STK_ABSENT, 0, 0);
    return drop.blocks > 0;
}

void stk_drop_claim(struct stk_record *record)
{
    struct stk_claim seen = stk_claim_load(&record->claim);
    struct stk_claim absent = seen;
    absent.state = STK_ABSENT;
    if (seen.state == STK_PRESENT && stk_claim_change(&record->claim, seen, absent)) {
        atomic_store(&record->entry_ino, 0);
    }
}

void stk_drop_version(struct stk_cache *cache, const struct stk_place *place, uint32_t number)
{
    char entry[STK_PATH_BYTES];
    struct stk_tier tier;
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return;
    }
    struct stk_claim claim = stk_claim_load(&record->claim);
    if (claim.state == STK_PRESENT && stk_tier_by_index(&cache->catalogue, claim.tier, &tier) &&
        stk_entry_path(entry, tier.home, place->root, place->below, stk_record_name(record))) {
        stk_drop_entry(cache, number, entry);
    }
}
