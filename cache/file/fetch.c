/* Fills from a shared tier, and requests to publish there. See cache/file/fill.h,
 * cache/run/shared_request.h. */
#include "cache/file/fill.h"

#include <fcntl.h>

#include "base/sys.h"
#include "base/text.h"
#include "cache/cache.h"
#include "cache/catalogue/claim.h"
#include "cache/run/shared_request.h"
#include "cache/version/freshness.h"

static struct stk_shared_requests *requests_of(const struct stk_fill *fill)
{
    return stk_run_shared_requests(&fill->cache->run);
}

/* Returns true if the file's mode lets all members of the group read it, as far as a mode says. */
static bool lets_members(const struct stk_record *record, const struct stk_root *root, uint32_t gid)
{
    mode_t bit = record->gid == gid ? S_IRGRP : S_IROTH;
    return gid != 0 && !root->single_user && (record->mode & bit) != 0;
}

/* Fills a request for this version. Returns false if other nodes could not find the copy: the file
 * lies on a mount below its root, or on a volume that other nodes name otherwise (unless the tier
 * is this node's). */
static bool begin(struct stk_shared_request_spec *spec, enum stk_shared_request_kind kind,
                  const struct stk_cache *cache, const struct stk_place *place,
                  const struct stk_record *record)
{
    struct stk_shared_requests *requests = stk_run_shared_requests(&cache->run);
    *spec = (struct stk_shared_request_spec){.kind = kind, .bytes = record->size};
    spec->for_members = lets_members(record, place->root, atomic_load(&requests->gid));
    spec->rights = cache->roots.rights;
    return (place->root->lasting || atomic_load(&requests->on_node) != 0) &&
           stk_record_dev(record) == place->root->dev &&
           stk_entry_path_below_tree(spec->path, sizeof spec->path, place->root, place->below,
                                     stk_record_name(record));
}

/* ---- by a fill ---- */

static bool begin_of(const struct stk_fill *fill, enum stk_shared_request_kind kind,
                     struct stk_shared_request_spec *spec)
{
    bool is_begun = begin(spec, kind, fill->cache, fill->place, fill->record);
    spec->tier = fill->build.tier != NULL ? fill->build.tier->index : 0;
    return is_begun;
}

static bool begin_now(const struct stk_fill *fill, enum stk_shared_request_kind kind,
                      struct stk_shared_request_spec *spec)
{
    return stk_shared_requests_are_open(requests_of(fill)) && begin_of(fill, kind, spec);
}

static enum stk_shared_request_answer ask(struct stk_fill *fill,
                                          const struct stk_shared_request_spec *spec)
{
    return stk_shared_request_ask(requests_of(fill), spec, &fill->record->claim,
                                  &fill->shared_waited_ns, &fill->check);
}

/* An open that has missed a deadline waits for no other one, even if the pause has ended since. */
bool stk_fill_is_shared(struct stk_fill *fill)
{
    struct stk_shared_request_spec spec;
    return stk_shared_requests_are_open_since(requests_of(fill), fill->opened_ns) &&
           begin_now(fill, STK_SHARED_REQUEST_LOOK, &spec) &&
           (stk_shared_requests_spare_opens(requests_of(fill)) ||
            ask(fill, &spec) == STK_SHARED_REQUEST_YES);
}

/* No other process has seen the draft yet, so its mode may be another for a moment. */
bool stk_fill_fetch(struct stk_fill *fill, const struct stk_entry_draft *draft)
{
    struct stk_shared_request_spec spec;
    if (!begin_now(fill, STK_SHARED_REQUEST_FETCH, &spec) ||
        !stk_text_copy(spec.draft, sizeof spec.draft, stk_path_leaf(draft->path)) ||
        stk_sys_chmod(draft->path, 0600) != 0) {
        return false;
    }
    spec.unopened = fill->unopened;
    spec.dev = draft->dev;
    spec.ino = draft->ino;
    enum stk_shared_request_answer answer = ask(fill, &spec);
    fill->damaged = answer == STK_SHARED_REQUEST_DAMAGED;
    return answer == STK_SHARED_REQUEST_YES && stk_sys_chmod(draft->path, STK_ENTRY_MODE) == 0;
}

static bool fits_where_others_pass(const struct stk_entry_build *build, const struct stk_tier *tier)
{
    const struct stk_budget *budget = &tier->shared->budget;
    return stk_budget_blocks_of(build->bytes, tier->shared->block_bytes) <=
           stk_transient_room(budget) - stk_transient_spared(build->copied, budget);
}

/* A copy from the origin goes on to the shared tier, unless that has no room for it. */
bool stk_fill_may_be_transient(const struct stk_fill *fill)
{
    struct stk_shared_request_spec spec;
    const struct stk_cache *cache = fill->cache;
    const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
    while (tier != NULL && !fits_where_others_pass(&fill->build, tier)) {
        tier = stk_cache_next_tier(cache, tier);
    }
    return tier != NULL && begin_now(fill, STK_SHARED_REQUEST_FETCH, &spec) &&
           (!fill->build.copied || stk_shared_requests_have_room(requests_of(fill)));
}

bool stk_fill_begin_transient(struct stk_fill *fill)
{
    struct stk_shared_request_spec spec;
    struct stk_transients *transients = stk_run_transients(&fill->cache->run);
    if (begin_now(fill, STK_SHARED_REQUEST_FETCH, &spec)) {
        fill->build.transient =
            stk_transient_begin(transients, fill->build.copied, fill->number, spec.path);
    }
    return fill->build.transient != NULL;
}

void stk_fill_end_transient(struct stk_fill *fill)
{
    stk_transient_end(stk_run_transients(&fill->cache->run), fill->build.transient);
    fill->build.transient = NULL;
}

void stk_fill_publish(struct stk_fill *fill)
{
    struct stk_shared_request_spec spec;
    if (!fill->fetched && stk_shared_requests_are_known(requests_of(fill)) &&
        begin_of(fill, STK_SHARED_REQUEST_PUBLISH, &spec)) {
        spec.ino = fill->build.ino;
        spec.repairs = fill->damaged;
        spec.missing = fill->build.copied;
        stk_shared_request_queue(requests_of(fill), &spec);
    }
}

/* ---- what is here already ---- */

/* Returns true if the entry is the whole one of this record, as this node's catalogue knows. The
 * catalogue is lost with the boot, and with it what a disk may not have kept. */
static bool is_entry_of(const struct stk_record *record, const struct stat *entry)
{
    struct stk_claim claim = stk_claim_load(&record->claim);
    return claim.state == STK_PRESENT && atomic_load(&record->entry_ino) == entry->st_ino &&
           record->size == (uint64_t)entry->st_size;
}

/* The modes that a group is judged by must be of this run. */
static bool may_add(struct stk_cache *cache, const struct stk_record *record)
{
    const struct stk_shared_requests *requests = stk_run_shared_requests(&cache->run);
    return record->size <= (uint64_t)cache->options.max_file_bytes &&
           (atomic_load(&requests->gid) == 0 ||
            stk_freshness_of(cache, record) == STK_FRESHNESS_FRESH);
}

void stk_cache_publish_entry(struct stk_cache *cache, const char *entry, const struct stat *stat)
{
    char origin[STK_PATH_BYTES];
    uint32_t number;
    struct stk_place place;
    struct stk_shared_request_spec spec;
    if (!stk_cache_find_entry(cache, entry, origin, &number) ||
        !stk_cache_place(cache, origin, AT_FDCWD, origin, &place) ||
        number != stk_catalogue_find(&cache->catalogue, place.key)) {
        return;
    }
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL && is_entry_of(record, stat) && may_add(cache, record) &&
        begin(&spec, STK_SHARED_REQUEST_PUBLISH, cache, &place, record)) {
        spec.tier = stk_claim_load(&record->claim).tier;
        spec.ino = stat->st_ino;
        spec.missing = true;
        stk_shared_request_add(stk_run_shared_requests(&cache->run), &spec);
    }
}
