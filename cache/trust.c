/* Freshness. See cache/trust.h. */
#include "cache/trust.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/remember.h"

#define WANTED (STATX_BASIC_STATS | STATX_BTIME)

/* By a hash: two inodes may share a slot, and are then asked about once too often. */
static _Atomic int64_t *inode_slot(const struct stk_cache *cache, uint64_t dev, uint64_t ino)
{
    uint64_t mixed = (ino ^ dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &cache->catalogue.header->inode_changed_ns[(mixed >> 32) % STK_CHANGED_INODES];
}

static bool has_inode_changed(const struct stk_cache *cache, const struct stk_record *record,
                              int64_t since_ns)
{
    return atomic_load_explicit(&cache->catalogue.header->any_inode_changed,
                                memory_order_acquire) != 0 &&
           atomic_load_explicit(inode_slot(cache, stk_record_dev(record), record->ino),
                                memory_order_acquire) >= since_ns;
}

bool stk_trust_is_untouched(const struct stk_cache *cache, const struct stk_record *record)
{
    int64_t validated = atomic_load_explicit(&record->validated_ns, memory_order_acquire);
    return validated != 0 && !has_inode_changed(cache, record, validated);
}

bool stk_trust_is_unmarked(const struct stk_cache *cache, const struct stk_root *root,
                           const struct stk_record *record)
{
    int64_t validated = atomic_load_explicit(&record->validated_ns, memory_order_acquire);
    const _Atomic int64_t *distrusted =
        &cache->catalogue.header->distrusted_ns[root->key % STK_DISTRUST_SLOTS];
    return stk_trust_is_untouched(cache, record) &&
           validated > atomic_load_explicit(distrusted, memory_order_acquire);
}

bool stk_trust_has(const struct stk_cache *cache, const struct stk_root *root,
                   const struct stk_record *record)
{
    switch (cache->options.fresh) {
    case STK_FRESH_OPEN:
        return false;
    case STK_FRESH_NEVER:
        return stk_trust_is_unmarked(cache, root, record);
    default:
        return atomic_load_explicit(&record->validated_ns, memory_order_acquire) >=
                   cache->run_start_ns &&
               stk_trust_is_unmarked(cache, root, record);
    }
}

bool stk_trust_is_young(const struct stk_cache *cache, const struct stk_identity *identity)
{
    int64_t oldest_young = stk_clock_realtime_ns() - cache->options.min_age_ns;
    return identity->mtime_ns > oldest_young || identity->ctime_ns > oldest_young;
}

/* The identity behind the path, and whether the path ends in a link: one question, or two. */
static bool ask_origin(const struct stk_place *place, struct stk_identity *out, enum stk_leaf *leaf)
{
    struct statx answer;
    int flags = AT_STATX_FORCE_SYNC | AT_SYMLINK_NOFOLLOW;
    *leaf = STK_LEAF_PLAIN;
    if (stk_sys_statx(place->dirfd, place->path, flags, WANTED, &answer) != 0) {
        return false;
    }
    if (S_ISLNK(answer.stx_mode)) {
        *leaf = STK_LEAF_LINK;
        flags = AT_STATX_FORCE_SYNC;
        if (stk_sys_statx(place->dirfd, place->path, flags, WANTED, &answer) != 0) {
            return false;
        }
    }
    return S_ISREG(answer.stx_mode) && stk_identity_from_statx(out, &answer) &&
           stk_root_is_there(place->root);
}

static _Atomic int64_t *changed_slot(const struct stk_cache *cache, uint64_t key)
{
    return &cache->catalogue.header->changed_ns[key % STK_CHANGED_SLOTS];
}

/* What was asked before a distrust and is noted only now must not undo it. The distrust leaves its
 * time first and clears the record then, so one of the two sees the other. */
static void set_validated(const struct stk_cache *cache, struct stk_record *record,
                          const struct stk_identity *identity, int64_t asked_ns)
{
    const _Atomic int64_t *changed = changed_slot(cache, record->key);
    bool stays = !stk_trust_is_young(cache, identity) && atomic_load(changed) < asked_ns;
    atomic_store(&record->validated_ns, stays ? asked_ns : 0);
    if (stays && atomic_load(changed) >= asked_ns) {
        atomic_store(&record->validated_ns, 0);
    }
}

/* Moves a time forward to now; never back. */
static void set_now(_Atomic int64_t *slot)
{
    int64_t now = stk_clock_boottime_ns();
    int64_t seen = atomic_load(slot);
    while (seen < now && !atomic_compare_exchange_weak(slot, &seen, now)) {
    }
}

void stk_trust_end(struct stk_cache *cache, struct stk_hash128 key)
{
    set_now(changed_slot(cache, key.low));
    uint32_t number = stk_catalogue_find(&cache->catalogue, key);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL) {
        atomic_store(&record->validated_ns, 0);
    }
}

void stk_trust_end_inode(struct stk_cache *cache, uint64_t dev, uint64_t ino)
{
    set_now(inode_slot(cache, dev, ino));
    atomic_store(&cache->catalogue.header->any_inode_changed, 1);
}

uint32_t stk_trust_validate(struct stk_cache *cache, const struct stk_place *place)
{
    struct stk_identity identity;
    enum stk_leaf leaf;
    int64_t asked_ns = stk_clock_boottime_ns();
    stk_run_count_stat(&cache->run, false);
    if (!ask_origin(place, &identity, &leaf)) {
        return 0;
    }
    uint32_t number = stk_remember(cache, place, &identity);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return 0;
    }
    stk_claim_set_leaf(&record->claim, leaf);
    set_validated(cache, record, &identity, asked_ns);
    return number;
}

bool stk_trust_validate_fd(struct stk_cache *cache, struct stk_record *record, int origin_fd)
{
    struct statx answer;
    struct stk_identity identity, known;
    int64_t asked_ns = stk_clock_boottime_ns();
    int flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
    stk_run_count_stat(&cache->run, false);
    if (!stk_record_get_identity(record, &known) ||
        stk_sys_statx(origin_fd, "", flags, WANTED, &answer) != 0 ||
        !stk_identity_from_statx(&identity, &answer) ||
        !stk_identity_same_version(&known, &identity)) {
        return false;
    }
    set_validated(cache, record, &identity, asked_ns);
    return true;
}
