/* Dropping entries. See cache/drop.h. */
#include "cache/drop.h"

#include <fcntl.h>

#include "base/sys.h"
#include "cache/claim.h"
#include "cache/entry.h"

/* What the entry takes: by its size as it was reserved, or more if the file system took more. The
 * size of a directory is not that of its listing. */
static int64_t blocks_of(const struct stk_record *record, const struct stk_tier *tier,
                         const char *entry)
{
    struct stat stat;
    int64_t blocks =
        S_ISDIR(record->mode) ? 0 : stk_budget_blocks_of(record->size, tier->shared->block_bytes);
    bool known = stk_sys_fstatat(AT_FDCWD, entry, &stat, AT_SYMLINK_NOFOLLOW) == 0;
    return known && stat.st_blocks > blocks ? stat.st_blocks : blocks;
}

/* The claim is held while the entry goes, as for a fill: nobody shall adopt it in that moment, and
 * then give its budget back a second time. */
void stk_drop_entry(struct stk_cache *cache, uint32_t number, const char *entry)
{
    struct stk_tier tier;
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return;
    }
    struct stk_claim seen = stk_claim_load(&record->claim);
    if (seen.state != STK_PRESENT || !stk_tier_by_index(&cache->catalogue, seen.tier, &tier) ||
        !stk_claim_take(&record->claim, seen)) {
        return;
    }
    atomic_store(&record->entry_ino, 0);
    int64_t blocks = blocks_of(record, &tier, entry);
    if (stk_sys_unlinkat(AT_FDCWD, entry, 0) == 0) {
        stk_tier_free(tier.shared, blocks, 1);
    }
    stk_claim_finish(&record->claim, STK_ABSENT, 0, 0);
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
