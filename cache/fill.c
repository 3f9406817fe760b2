/*
 * Filling: one process copies the origin aside, checks that it got exactly the version it asked
 * for, and renames it into place; the others wait. See cache/cache.h.
 */
#include "cache/fill.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/claim.h"
#include "cache/make.h"
#include "cache/proof.h"
#include "cache/remember.h"
#include "cache/trust.h"

#define ATTEMPTS 8

/* ---- one fill ---- */

static bool validate(const struct stk_fill *fill)
{
    return stk_trust_validate_fd(fill->cache, fill->record, fill->origin.fd, fill->opened_ns);
}

/* Where asking takes a round trip, and somebody will make it in our place: not now. */
static bool validate_copy(struct stk_fill *fill)
{
    struct stk_deferred *deferred = stk_run_deferred(&fill->cache->run);
    const struct stk_place *place = fill->place;
    if (fill->deferred == NULL) { /* else a tier took it that failed then */
        fill->deferred = stk_deferred_reserve(deferred, place->root, place->below);
    }
    return fill->deferred != NULL
               ? stk_trust_defer_fd(fill->record, fill->origin.fd, fill->opened_ns)
               : validate(fill);
}

static void settle_deferred(const struct stk_fill *fill, enum stk_bypass why)
{
    if (fill->deferred != NULL && why == STK_BYPASS_NONE) {
        stk_deferred_put(stk_run_deferred(&fill->cache->run), fill->deferred);
    } else if (fill->deferred != NULL) {
        stk_deferred_give_back(fill->deferred);
    }
}

/* What is in the draft is whole: it proves that, and is of the version that there is. */
static enum stk_bypass settle_copy(struct stk_fill *fill, const struct stk_entry_draft *draft)
{
    bool disk = fill->making.tier->shared->memory == 0;
    if (disk && stk_proof_leave(draft->path, fill->check) != 0) {
        return STK_BYPASS_TIER;
    }
    return validate_copy(fill) ? STK_BYPASS_NONE : STK_BYPASS_CHANGED;
}

/* Of stk_make_entry. */
static enum stk_bypass write_copy(void *context, const struct stk_entry_draft *draft)
{
    struct stk_fill *fill = context;
    if (!fill->begun) {
        fill->unread = stk_origin_is_unread(&fill->origin, fill->record->size);
        fill->begun = true;
    }
    fill->check = 0;
    enum stk_bypass why = stk_fill_copy(fill, draft);
    return why == STK_BYPASS_NONE ? settle_copy(fill, draft) : why;
}

/* Of stk_make_entry. CHANGED: there is no such entry. */
static enum stk_bypass write_fetched(void *context, const struct stk_entry_draft *draft)
{
    struct stk_fill *fill = context;
    fill->fetched = stk_fill_fetch(fill, draft);
    return fill->fetched ? settle_copy(fill, draft) : STK_BYPASS_CHANGED;
}

static bool is_want_of_room(const struct stk_fill *fill, enum stk_bypass why)
{
    return (why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY || why == STK_BYPASS_TIER) &&
           !fill->making.taken;
}

static enum stk_bypass make_passing_once(struct stk_fill *fill, stk_make_write *write,
                                         enum stk_bypass why)
{
    if (stk_fill_begin_passing(fill)) {
        why = stk_make_entry(&fill->making, write, fill);
        if (why != STK_BYPASS_NONE) {
            stk_fill_end_passing(fill);
        }
    }
    return why;
}

/* Where it stays, or else in the room of those that pass, which others may take first. */
static enum stk_bypass make_by(struct stk_fill *fill, stk_make_write *write)
{
    struct stk_passings *passings = stk_run_passings(&fill->cache->run);
    enum stk_bypass why = stk_make_entry(&fill->making, write, fill);
    bool more = is_want_of_room(fill, why) && fill->cache->passes && stk_fill_may_pass(fill);
    for (int i = 0; i < ATTEMPTS && more; i++) {
        why = make_passing_once(fill, write, why);
        more = is_want_of_room(fill, why) && stk_passings_make_room(passings);
    }
    return why;
}

/* By a shared tier, or else by the origin. */
static enum stk_bypass make(struct stk_fill *fill)
{
    enum stk_bypass why = STK_BYPASS_CHANGED;
    if (stk_fill_is_far(fill)) {
        why = make_by(fill, write_fetched);
    }
    if (why == STK_BYPASS_CHANGED) {
        fill->fetched = false;
        fill->making.copied = true;
        why = make_by(fill, write_copy);
    }
    return why;
}

/* ---- entries that are there already ---- */

/* Whatever lies there: nobody waits for somebody to write to a pipe. */
static bool adopt_this(struct stk_fill *fill)
{
    struct stat stat = {.st_blocks = 0};
    int fd = stk_sys_open_nolinks(fill->making.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool whole = stk_fill_is_whole(fill, fd, &stat);
    stk_sys_close(fd);
    if (!whole) {
        stk_make_way(fill->making.tier, fill->making.path, stat.st_blocks);
        return false;
    }
    if (!validate(fill)) {
        return false;
    }
    fill->making.ino = stat.st_ino;
    return true;
}

/* Published by a filler that was killed before it could say so, or before the catalogue was lost,
 * in whichever tier had room. */
static bool adopt(struct stk_fill *fill)
{
    bool adopted = false;
    fill->making.tier = NULL;
    while (!adopted && stk_make_next_tier(&fill->making)) {
        adopted = adopt_this(fill);
    }
    return adopted;
}

/* Ends the claim with what became of it. */
static void finish(const struct stk_fill *fill, enum stk_bypass why)
{
    _Atomic uint64_t *claim = &fill->record->claim;
    if (why == STK_BYPASS_NONE) {
        atomic_store(&fill->record->entry_ino, fill->making.ino);
    }
    if (why == STK_BYPASS_SPARSE) {
        stk_claim_finish(claim, STK_REFUSED, 0, stk_claim_sparse_in(fill->cache->run_start_ns));
    } else if (why == STK_BYPASS_BUDGET && stk_fill_may_pass(fill)) { /* soon, perhaps */
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    } else {
        stk_make_finish(&fill->making, claim, why);
    }
}

/* Runs a claimed fill to its end. */
static void run_fill(struct stk_fill *fill, struct stk_outcome *outcome)
{
    outcome->why = STK_BYPASS_NONE;
    outcome->kind = STK_COUNT_HITS;
    if (stk_origin_has_holes(&fill->origin, fill->identity)) {
        outcome->why = STK_BYPASS_SPARSE;
        outcome->kind = STK_COUNT_OPENS;
    } else if (!adopt(fill)) {
        outcome->why = make(fill);
        outcome->kind = outcome->why == STK_BYPASS_NONE ? STK_COUNT_FILLS : STK_COUNT_OPENS;
        outcome->fetched = fill->fetched;
        outcome->passing = fill->making.passing;
    }
    if (outcome->why == STK_BYPASS_TIER && adopt(fill)) {
        /* A filler that had been thought dead has published it in the meantime. */
        outcome->why = STK_BYPASS_NONE;
        outcome->kind = STK_COUNT_HITS;
    }
    outcome->tier = fill->making.tier != NULL ? fill->making.tier->index : 0;
    finish(fill, outcome->why);
    settle_deferred(fill, outcome->why);
    if (outcome->why == STK_BYPASS_NONE) {
        stk_fill_publish(fill, outcome->kind == STK_COUNT_FILLS);
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
    return stk_trust_is_young(cache, identity) ? STK_BYPASS_YOUNG : STK_BYPASS_NONE;
}

/* Why this version is not to be cached, whoever asks. */
static enum stk_bypass reason_against(struct stk_cache *cache, const struct stk_place *place,
                                      const struct stk_identity *identity)
{
    enum stk_bypass why = stk_cache_reason_against(cache, place, identity);
    if (why != STK_BYPASS_NONE && why != STK_BYPASS_YOUNG) {
        return why;
    }
    if (stk_trust_is_written(cache, place) ||
        stk_trust_is_inode_written(cache, identity->dev, identity->ino)) {
        return STK_BYPASS_WRITTEN;
    }
    return why == STK_BYPASS_NONE && cache->tier.shared == NULL ? STK_BYPASS_TIER : why;
}

static bool look_at_origin(int fd, struct stk_identity *out)
{
    struct statx answer;
    return stk_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &answer) == 0 &&
           S_ISREG(answer.stx_mode) && stk_identity_from_statx(out, &answer);
}

/* Whether a record that is present may be used for this open. */
static bool is_usable(struct stk_fill *fill)
{
    return stk_trust_of(fill->cache, fill->record) == STK_TRUST_YES || validate(fill);
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
           stk_entry_path(fill->making.path, tier.home, fill->place->root, fill->place->below,
                          stk_record_name(fill->record));
}

/* ---- what other members have ---- */

static bool name_members_entry(struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_cache *cache = fill->cache;
    const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
    while (tier != NULL &&
           !stk_group_find(&cache->group, tier, fill->place->root, fill->place->below,
                           fill->making.name, fill->making.bytes, fill->making.path)) {
        tier = stk_cache_next_tier(cache, tier);
    }
    outcome->tier = tier != NULL ? tier->index : 0;
    return tier != NULL;
}

/* In another's home, of what one has not oneself. The program has just opened the origin, which is
 * its right to it; nothing is noted but what the origin has said, so the next open does the same.
 */
static bool find_at_members(struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_cache *cache = fill->cache;
    if (!cache->group.on || stk_claim_load(&fill->record->claim).state == STK_PRESENT ||
        !name_members_entry(fill, outcome)) {
        return false;
    }
    bool valid = stk_trust_of(cache, fill->record) == STK_TRUST_YES || validate_copy(fill);
    settle_deferred(fill, valid ? STK_BYPASS_NONE : STK_BYPASS_CHANGED);
    fill->deferred = NULL;
    outcome->members = valid;
    if (valid) {
        outcome->kind = STK_COUNT_HITS;
        outcome->why = STK_BYPASS_NONE;
    }
    return valid;
}

int stk_cache_open_entry(struct stk_cache *cache, const char *entry,
                         const struct stk_outcome *outcome, int flags)
{
    struct stk_tier tier;
    if (!outcome->members) {
        return stk_sys_open_nolinks(entry, flags);
    }
    return stk_tier_by_index(&cache->catalogue, outcome->tier, &tier)
               ? stk_group_open_entry(&cache->group, &tier, entry, outcome->size, flags)
               : -ENOENT;
}

static bool fill_record(struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_cache *cache = fill->cache;
    if (!stk_catalogue_is_current(&cache->catalogue)) {
        outcome->why = STK_BYPASS_CATALOGUE;
        return false;
    }
    if (find_at_members(fill, outcome)) {
        return true;
    }
    if (cache->group.on) { /* it was asked for all the same, see cache/ask.c */
        outcome->why = stk_make_refusal(cache, stk_claim_load(&fill->record->claim));
        if (outcome->why != STK_BYPASS_NONE) {
            return false;
        }
    }
    outcome->kind = acquire(fill, &outcome->why);
    if (outcome->kind == STK_COUNT_FILLS) {
        run_fill(fill, outcome);
    } else if (outcome->kind == STK_COUNT_HITS && !name_entry(fill, outcome)) {
        outcome->kind = STK_COUNT_OPENS;
        outcome->why = STK_BYPASS_TIER;
    }
    return outcome->kind != STK_COUNT_OPENS;
}

/* Whether something lies where its entry would, in any tier. */
static bool is_there(struct stk_fill *fill)
{
    bool there = false;
    fill->making.tier = NULL;
    while (!there && stk_make_next_tier(&fill->making)) {
        there = stk_sys_faccessat(AT_FDCWD, fill->making.path, 0) == 0;
    }
    return there;
}

/* A large file is filled block by block (cache/big.h), and then is an entry as any other: of a run
 * before, or of a catalogue that was lost. */
static bool find_large(struct stk_fill *fill, struct stk_outcome *outcome)
{
    struct stk_claim claim = stk_claim_load(&fill->record->claim);
    if (stk_trust_is_written(fill->cache, fill->place) ||
        stk_trust_is_inode_written(fill->cache, fill->origin.dev, fill->origin.ino)) {
        return false;
    }
    if (find_at_members(fill, outcome)) {
        return true;
    }
    bool found = claim.state == STK_PRESENT && is_usable(fill) && name_entry(fill, outcome);
    bool free = claim.state == STK_ABSENT || claim.state == STK_REFUSED;
    if (free && is_there(fill) && stk_claim_take(&fill->record->claim, claim)) {
        found = adopt(fill);
        outcome->tier = found ? fill->making.tier->index : 0;
        finish(fill, found ? STK_BYPASS_NONE : STK_BYPASS_TIER);
    }
    if (found) {
        outcome->kind = STK_COUNT_HITS;
        outcome->why = STK_BYPASS_NONE;
    }
    return found;
}

/* Whether this version may be remembered; if not, the outcome says why. */
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
    if (stk_trust_is_young(cache, identity)) {
        stk_trust_forget(cache, place, identity);
        outcome->why = reason_against(cache, place, identity);
        return false;
    }
    return true;
}

bool stk_cache_fill(struct stk_cache *cache, const struct stk_place *place, int origin_fd,
                    int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome)
{
    struct stk_identity identity;
    *outcome = (struct stk_outcome){.kind = STK_COUNT_OPENS, .why = STK_BYPASS_NONE};
    if (!look_at_origin(origin_fd, &identity)) {
        return false;
    }
    outcome->size = identity.size;
    if (!may_remember(cache, place, &identity, outcome)) {
        return false;
    }
    outcome->record = stk_remember(cache, place, &identity);
    struct stk_fill fill = {
        .cache = cache,
        .place = place,
        .number = outcome->record,
        .identity = &identity,
        .origin = {.fd = origin_fd, .dev = identity.dev, .ino = identity.ino},
        .opened_ns = opened_ns,
        .making = {.cache = cache, .place = place, .path = entry, .shared = &identity}};
    fill.record = stk_catalogue_record(&cache->catalogue, outcome->record);
    if (fill.record == NULL) {
        return false;
    }
    outcome->why = reason_against(cache, place, &identity);
    if (outcome->why != STK_BYPASS_NONE && outcome->why != STK_BYPASS_LARGE) {
        return false;
    }
    fill.making.name = stk_record_name(fill.record);
    fill.making.bytes = fill.record->size;
    if (!stk_make_next_tier(&fill.making)) {
        outcome->why = outcome->why != STK_BYPASS_NONE ? outcome->why : STK_BYPASS_NAME;
        return false;
    }
    return outcome->why == STK_BYPASS_LARGE ? find_large(&fill, outcome)
                                            : fill_record(&fill, outcome);
}
