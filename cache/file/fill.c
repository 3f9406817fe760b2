/*
 * One process copies the origin into a draft, checks that it got exactly the version that it asked
 * for, and renames the draft into place; the other processes wait. See cache/cache.h.
 */
#include "cache/file/fill.h"

#include <fcntl.h>
#include <string.h>

#include "base/sys.h"
#include "cache/cache.h"
#include "cache/catalogue/claim.h"
#include "cache/entry/checksum.h"
#include "cache/version/entry_build.h"
#include "cache/version/freshness.h"
#include "cache/version/versions.h"

#define ATTEMPTS 8

/* ---- one fill ---- */

static bool validate(const struct stk_fill *fill)
{
    return stk_freshness_validate_fd(fill->cache, fill->record, fill->origin.fd, fill->opened_ns);
}

/* Checks that the origin is still the copied version. If that takes a round trip and the command
 * can do it, it is queued. */
static bool validate_copy(struct stk_fill *fill)
{
    struct stk_revalidation_queue *queue = stk_run_revalidation_queue(&fill->cache->run);
    const struct stk_place *place = fill->place;
    if (fill->queued == NULL) { /* else a tier took it that failed then */
        fill->queued = stk_revalidation_queue_reserve(queue, place->root, place->below);
    }
    return fill->queued != NULL
               ? stk_freshness_queue_fd(fill->record, fill->origin.fd, fill->opened_ns)
               : validate(fill);
}

static void finish_queued(const struct stk_fill *fill, bool good)
{
    stk_revalidation_queue_end(stk_run_revalidation_queue(&fill->cache->run), fill->queued, good);
}

/* The draft is complete: stores its checksum (disk tiers), then checks that the origin is still the
 * copied version. Without a descriptor, the look before the fill has found the version of the entry
 * in the shared tier. */
static enum stk_bypass finish_copy(struct stk_fill *fill, const struct stk_entry_draft *draft)
{
    bool disk = fill->build.tier->shared->memory == 0;
    if (disk && stk_checksum_store(draft->path, fill->check) != 0) {
        return STK_BYPASS_TIER;
    }
    return fill->unopened || validate_copy(fill) ? STK_BYPASS_NONE : STK_BYPASS_CHANGED;
}

/* Writes the draft for stk_entry_build_make from the origin. */
static enum stk_bypass write_copy(void *context, const struct stk_entry_draft *draft)
{
    struct stk_fill *fill = context;
    if (!fill->is_begun) {
        fill->unread = stk_origin_is_unread(&fill->origin, fill->record->size);
        fill->is_begun = true;
    }
    fill->check = 0;
    enum stk_bypass why = stk_fill_copy(fill, draft);
    return why == STK_BYPASS_NONE ? finish_copy(fill, draft) : why;
}

/* Writes the draft for stk_entry_build_make from the shared tier. CHANGED: there is no such entry.
 */
static enum stk_bypass write_fetched(void *context, const struct stk_entry_draft *draft)
{
    struct stk_fill *fill = context;
    fill->fetched = stk_fill_fetch(fill, draft);
    return fill->fetched ? finish_copy(fill, draft) : STK_BYPASS_CHANGED;
}

static bool is_want_of_room(const struct stk_fill *fill, enum stk_bypass why)
{
    return (why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY || why == STK_BYPASS_TIER) &&
           !fill->build.taken;
}

static enum stk_bypass make_transient_once(struct stk_fill *fill, stk_entry_build_write *write,
                                           enum stk_bypass why)
{
    if (stk_fill_begin_transient(fill)) {
        why = stk_entry_build_make(&fill->build, write, fill);
        if (why != STK_BYPASS_NONE) {
            stk_fill_end_transient(fill);
        }
    }
    return why;
}

/* Where it stays, or else in the room of those that pass, which others may take first. */
static enum stk_bypass make_by(struct stk_fill *fill, stk_entry_build_write *write)
{
    struct stk_transients *transients = stk_run_transients(&fill->cache->run);
    enum stk_bypass why = stk_entry_build_make(&fill->build, write, fill);
    bool more = is_want_of_room(fill, why) && fill->cache->makes_transient &&
                stk_fill_may_be_transient(fill);
    for (int i = 0; i < ATTEMPTS && more; i++) {
        why = make_transient_once(fill, write, why);
        more = is_want_of_room(fill, why) && stk_transients_make_room(transients);
    }
    return why;
}

/* By a shared tier, or else by the origin. */
static enum stk_bypass make(struct stk_fill *fill)
{
    enum stk_bypass why = STK_BYPASS_CHANGED;
    if (stk_fill_is_shared(fill)) {
        why = make_by(fill, write_fetched);
    }
    if (why == STK_BYPASS_CHANGED && !fill->unopened) {
        fill->fetched = false;
        fill->build.copied = true;
        why = make_by(fill, write_copy);
    }
    return why;
}

/* ---- entries that are there already ---- */

/* Returns true if any tier has something at the entry's path. */
static bool is_there(struct stk_fill *fill)
{
    bool there = false;
    fill->build.tier = NULL;
    while (!there && stk_entry_build_next_tier(&fill->build)) {
        there = stk_sys_faccessat(AT_FDCWD, fill->build.path, 0) == 0;
    }
    return there;
}

/* Adopts what lies at the entry's path. The open does not block, even on a pipe. */
static bool adopt_this(struct stk_fill *fill)
{
    struct stat stat = {.st_blocks = 0};
    int fd = stk_sys_open_own(fill->build.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool whole = stk_fill_is_whole(fill, fd, &stat);
    stk_sys_close(fd);
    if (!whole) {
        stk_entry_build_way(fill->build.tier, fill->build.path, stat.st_blocks);
        return false;
    }
    if (!validate(fill)) {
        return false;
    }
    fill->build.ino = stat.st_ino;
    return true;
}

/* Published by a filler that was killed before it could say so, or before the catalogue was lost,
 * in whichever tier had room. */
static bool adopt(struct stk_fill *fill)
{
    bool adopted = false;
    fill->build.tier = NULL;
    while (!adopted && stk_entry_build_next_tier(&fill->build)) {
        adopted = adopt_this(fill);
    }
    return adopted;
}

/* Returns true if the open follows, or if the entry may soon be made without a place to stay. */
static bool is_tried_again(const struct stk_fill *fill, enum stk_bypass why)
{
    return (why != STK_BYPASS_NONE && fill->unopened) ||
           (why == STK_BYPASS_BUDGET && stk_fill_may_be_transient(fill));
}

/* Ends the claim with what became of it. */
static void finish(const struct stk_fill *fill, enum stk_bypass why)
{
    _Atomic uint64_t *claim = &fill->record->claim;
    if (why == STK_BYPASS_NONE) {
        atomic_store(&fill->record->entry_ino, fill->build.ino);
    }
    if (why == STK_BYPASS_SPARSE) {
        stk_claim_finish(claim, STK_REFUSED, 0, stk_claim_sparse_in(fill->cache->run_start_ns));
    } else if (is_tried_again(fill, why)) {
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    } else {
        stk_entry_build_finish(&fill->build, claim, why);
    }
}

static void note_hit(struct stk_outcome *outcome)
{
    outcome->kind = STK_COUNT_HITS;
    outcome->why = STK_BYPASS_NONE;
}

/* Makes the entry, or adopts the one that a filler that was thought dead has published meanwhile.
 */
static void make_or_adopt(struct stk_fill *fill, struct stk_outcome *outcome)
{
    outcome->why = make(fill);
    outcome->kind = outcome->why == STK_BYPASS_NONE ? STK_COUNT_FILLS : STK_COUNT_OPENS;
    outcome->fetched = fill->fetched;
    outcome->transient = fill->build.transient;
    if (outcome->why == STK_BYPASS_TIER && !fill->unopened && adopt(fill)) {
        note_hit(outcome);
    }
}

/* An entry that lies here may have been copied by a process with other rights. */
static void make_unopened(struct stk_fill *fill, struct stk_outcome *outcome)
{
    outcome->why = STK_BYPASS_CHANGED;
    outcome->kind = STK_COUNT_OPENS;
    if (!is_there(fill)) {
        make_or_adopt(fill, outcome);
    }
}

/* Runs a claimed fill to its end. */
static void run_fill(struct stk_fill *fill, struct stk_outcome *outcome)
{
    if (fill->unopened) {
        make_unopened(fill, outcome);
    } else if (stk_origin_has_holes(&fill->origin, fill->identity)) {
        outcome->why = STK_BYPASS_SPARSE;
        outcome->kind = STK_COUNT_OPENS;
    } else if (adopt(fill)) {
        note_hit(outcome);
    } else {
        make_or_adopt(fill, outcome);
    }
    outcome->tier = fill->build.tier != NULL ? fill->build.tier->index : 0;
    finish(fill, outcome->why);
    finish_queued(fill, outcome->why == STK_BYPASS_NONE);
    if (outcome->why == STK_BYPASS_NONE) {
        stk_fill_publish(fill);
    }
    if (outcome->kind == STK_COUNT_FILLS && fill->unread) {
        /* Its pages are in the tier now: memory is not to be spent twice. Those that others had
         * read before are theirs. */
        stk_origin_forget(&fill->origin);
    }
}

/* ---- before the fill ---- */

enum stk_bypass stk_cache_reason_against(const struct stk_cache *cache,
                                         const struct stk_place *place,
                                         const struct stk_identity *identity)
{
    const char *leaf = stk_path_leaf(place->below);
    if (cache->options.leaves_files) {
        return STK_BYPASS_LEFT;
    }
    if (place->root->kind == STK_ROOT_MEMORY) {
        return STK_BYPASS_ORIGIN;
    }
    if (identity->size == 0) {
        return STK_BYPASS_EMPTY;
    }
    if (identity->size > (uint64_t)cache->options.max_file_bytes) {
        return STK_BYPASS_LARGE;
    }
    if (strlen(leaf) > STK_ENTRY_LEAF_LIMIT) {
        return STK_BYPASS_NAME;
    }
    if (stk_path_is_database(leaf)) {
        return STK_BYPASS_DATABASE;
    }
    return stk_freshness_is_young(cache, identity) ? STK_BYPASS_YOUNG : STK_BYPASS_NONE;
}

/* Returns why no process may cache this version, or NONE. */
static enum stk_bypass reason_against(struct stk_cache *cache, const struct stk_place *place,
                                      const struct stk_identity *identity)
{
    enum stk_bypass why = stk_cache_reason_against(cache, place, identity);
    if (why != STK_BYPASS_NONE && why != STK_BYPASS_YOUNG) {
        return why;
    }
    if (stk_freshness_is_written(cache, place) ||
        stk_freshness_is_inode_written(cache, identity->dev, identity->ino)) {
        return STK_BYPASS_WRITTEN;
    }
    return why == STK_BYPASS_NONE && cache->tier.shared == NULL ? STK_BYPASS_TIER : why;
}

/* Returns true if a present record may be used for this open. */
static bool is_usable(struct stk_fill *fill)
{
    return stk_freshness_of(fill->cache, fill->record) == STK_FRESHNESS_FRESH || validate(fill);
}

/*
 * Gets this process the claim on the record, or the right to use what another has filled: FILLS for
 * the one, HITS for the other, OPENS (with a reason) for neither.
 */
static enum stk_count acquire(struct stk_fill *fill, enum stk_bypass *why)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stk_claim claim = stk_claim_load(&fill->record->claim);
        if (claim.state == STK_PRESENT) {
            *why = STK_BYPASS_CHANGED;
            return is_usable(fill) ? STK_COUNT_HITS : STK_COUNT_OPENS;
        }
        if (claim.state == STK_FILLING) {
            stk_claim_wait(&fill->record->claim);
        } else if (stk_claim_take(&fill->record->claim, claim)) {
            return STK_COUNT_FILLS;
        }
    }
    *why = STK_BYPASS_STUCK;
    return STK_COUNT_OPENS;
}

/* The entry's path in the tier that the record names, which may be another run's. */
static bool name_entry(const struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_tier tier;
    outcome->tier = stk_claim_load(&fill->record->claim).tier;
    return stk_tier_by_index(&fill->cache->catalogue, outcome->tier, &tier) &&
           stk_entry_path(fill->build.path, tier.home, fill->place->root, fill->place->below,
                          stk_record_name(fill->record));
}

static bool fill_record(struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_cache *cache = fill->cache;
    if (!stk_catalogue_is_current(&cache->catalogue)) {
        outcome->why = STK_BYPASS_CATALOGUE;
        return false;
    }
    outcome->kind = acquire(fill, &outcome->why);
    if (outcome->kind == STK_COUNT_FILLS) {
        run_fill(fill, outcome);
    } else if (outcome->kind == STK_COUNT_HITS && !name_entry(fill, outcome)) {
        outcome->kind = STK_COUNT_OPENS;
        outcome->why = STK_BYPASS_TIER;
    } else {
        outcome->awaited = outcome->kind == STK_COUNT_HITS;
    }
    return outcome->kind != STK_COUNT_OPENS;
}

/* Adopts the entry of a large file, if there is one and no process fills it. */
static bool adopt_large(struct stk_fill *fill, struct stk_claim claim, struct stk_outcome *outcome)
{
    bool free = claim.state == STK_ABSENT || claim.state == STK_REFUSED;
    if (!free || !is_there(fill) || !stk_claim_take(&fill->record->claim, claim)) {
        return false;
    }
    bool adopted = adopt(fill);
    outcome->tier = adopted ? fill->build.tier->index : 0;
    finish(fill, adopted ? STK_BYPASS_NONE : STK_BYPASS_TIER);
    return adopted;
}

/* Finds the entry of a large file. Such a file is filled block by block (cache/big/big.h), and then
 * is an entry like any other. The entry may be that of the record, or one that an earlier run or a
 * lost catalogue has left. Returns false if there is none, or if the file was written; the
 * outcome's reason stays LARGE. */
static bool find_large(struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_claim claim = stk_claim_load(&fill->record->claim);
    if (stk_freshness_is_written(fill->cache, fill->place) ||
        stk_freshness_is_inode_written(fill->cache, fill->origin.dev, fill->origin.ino)) {
        return false;
    }
    bool found = claim.state == STK_PRESENT ? is_usable(fill) && name_entry(fill, outcome)
                                            : adopt_large(fill, claim, outcome);
    if (found) {
        note_hit(outcome);
    }
    return found;
}

/* Returns true if this version may be remembered; otherwise the outcome holds the reason. */
static bool may_remember(struct stk_cache *cache, const struct stk_place *place,
                         const struct stk_identity *identity, struct stk_outcome *outcome)
{
    outcome->why = STK_BYPASS_CATALOGUE;
    if (cache->catalogue.header == NULL) {
        return false;
    }
    if (!stk_root_is_there(place->root)) {
        outcome->why = STK_BYPASS_CHANGED; /* it is another directory's file */
        return false;
    }
    if (stk_freshness_is_young(cache, identity)) {
        stk_freshness_forget(cache, place, identity);
        outcome->why = reason_against(cache, place, identity);
        return false;
    }
    return true;
}

/* Returns a fill of this record without an origin. The record may be none. */
static struct stk_fill fill_of(struct stk_cache *cache, const struct stk_place *place,
                               uint32_t record, const struct stk_identity *identity,
                               char entry[STK_PATH_BYTES])
{
    return (struct stk_fill){.cache = cache,
                             .place = place,
                             .record = stk_catalogue_record(&cache->catalogue, record),
                             .number = record,
                             .identity = identity,
                             .origin = {.fd = -1},
                             .build = {.cache = cache, .place = place, .path = entry}};
}

/* Prepares the build of the entry. Returns false, with the reason in the outcome, if the version
 * may not be cached. For a version above the size limit it returns true and leaves LARGE in the
 * outcome: blocks may have made an entry of it. */
static bool begin_build(struct stk_fill *fill, struct stk_outcome *outcome)
{
    outcome->why = reason_against(fill->cache, fill->place, fill->identity);
    if (outcome->why != STK_BYPASS_NONE && outcome->why != STK_BYPASS_LARGE) {
        return false;
    }
    fill->build.name = stk_record_name(fill->record);
    fill->build.bytes = fill->record->size;
    if (!stk_entry_build_next_tier(&fill->build)) {
        outcome->why = outcome->why != STK_BYPASS_NONE ? outcome->why : STK_BYPASS_NAME;
        return false;
    }
    return true;
}

/* Returns true if the path leads to this file. Another thread may have closed the program's number
 * since its open, and the number may be another file's. A server would be asked once more. */
static bool is_of_path(const struct stk_place *place, const struct stk_origin *origin)
{
    return !stk_root_is_local(place->root) || stk_origin_is_at(origin, place->dirfd, place->path);
}

/*
 * Ends at the first step that fails, with the reason in the outcome. The origin must be a regular
 * file, and that of the path. Its version may be remembered, and has a record. The version may be
 * cached. Then an entry is found, even if another process has made it, or is made here.
 */
bool stk_cache_fill(struct stk_cache *cache, const struct stk_place *place, int origin_fd,
                    int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome)
{
    struct stk_identity identity;
    *outcome = (struct stk_outcome){.kind = STK_COUNT_OPENS, .why = STK_BYPASS_NONE};
    if (!stk_identity_of_file(origin_fd, 0, &identity)) {
        return false;
    }
    outcome->size = identity.size;
    const struct stk_origin origin = {.fd = origin_fd, .dev = identity.dev, .ino = identity.ino};
    if (!stk_freshness_is_in_place(cache, place, &identity) || !is_of_path(place, &origin)) {
        outcome->why = STK_BYPASS_CHANGED;
        return false;
    }
    if (!may_remember(cache, place, &identity, outcome)) {
        return false;
    }
    outcome->record = stk_versions_remember(cache, place, &identity);
    struct stk_fill fill = fill_of(cache, place, outcome->record, &identity, entry);
    fill.origin = origin;
    fill.opened_ns = opened_ns;
    if (fill.record == NULL || !begin_build(&fill, outcome)) {
        return false;
    }
    return outcome->why == STK_BYPASS_LARGE ? find_large(&fill, outcome)
                                            : fill_record(&fill, outcome);
}

/* The look comes before all else, so an entry of another version has another name. */
bool stk_cache_fetch(struct stk_cache *cache, const struct stk_place *place,
                     char entry[STK_PATH_BYTES], struct stk_outcome *outcome)
{
    struct stk_look look;
    struct stk_identity identity;
    *outcome = (struct stk_outcome){.kind = STK_COUNT_OPENS, .why = STK_BYPASS_NONE};
    if (!stk_shared_requests_spare_opens(stk_run_shared_requests(&cache->run)) ||
        stk_freshness_look(cache, place, false, &look) != 0) {
        return false;
    }
    outcome->record = stk_freshness_remember(cache, place, &look);
    struct stk_fill fill = fill_of(cache, place, outcome->record, &identity, entry);
    fill.unopened = true;
    fill.opened_ns = stk_clock_boottime_ns();
    if (fill.record == NULL || !stk_record_get_identity(fill.record, &identity) ||
        !begin_build(&fill, outcome)) {
        return false;
    }
    outcome->size = identity.size;
    return outcome->why == STK_BYPASS_NONE && fill_record(&fill, outcome);
}

void stk_cache_note_fetched(struct stk_cache *cache, const struct stk_place *place)
{
    struct stk_revalidation_queue *queue = stk_run_revalidation_queue(&cache->run);
    stk_revalidation_queue_end(
        queue, stk_revalidation_queue_reserve(queue, place->root, place->below), true);
}
