/* Making listings. See cache/listing.h. */
#include "cache/listing_parts.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "cache/entry.h"
#include "cache/pressure.h"
#include "cache/trust.h"

#define ATTEMPTS    8
#define PIECE_BYTES (32u << 10) /* as libc asks for */

struct filling {
    struct stk_cache *cache;
    const struct stk_place *directory;
    int fd;
    struct stk_record *record;
    struct stk_identity identity;
    int64_t blocks;
    char entry[STK_PATH_BYTES];
};

static bool look_at(const struct filling *filling, int flags, struct stk_identity *out)
{
    struct statx answer;
    unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    return stk_sys_statx(filling->fd, "", AT_EMPTY_PATH | flags, wanted, &answer) == 0 &&
           stk_listing_identify(filling->directory, &answer, out);
}

static bool is_refused(const struct stk_cache *cache, struct stk_claim claim)
{
    const struct stk_tier *tier = &cache->tier;
    return claim.state == STK_REFUSED && claim.tier == tier->index &&
           (claim.detail == atomic_load(&tier->shared->budget.generation) ||
            (claim.detail == stk_pressure_refusal(tier) && !stk_pressure_admits(tier, 0)));
}

enum turn { NOBODYS, MINE, MADE };

/* Whose turn it is. What another has just made is there to be served. */
static enum turn take_turn(struct filling *filling)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stk_claim claim = stk_listing_settled_claim(filling->record);
        bool trusted = stk_trust_of(filling->cache, filling->directory->root, filling->record) ==
                       STK_TRUST_YES;
        if (claim.state == STK_PRESENT && trusted) {
            return MADE;
        }
        if (is_refused(filling->cache, claim)) {
            return NOBODYS;
        }
        if (claim.state != STK_FILLING && stk_claim_take(&filling->record->claim, claim)) {
            return MINE;
        }
    }
    return NOBODYS;
}

/* All records from the start to the end; advances the claim. */
static bool read_names(const struct filling *filling, struct stk_listing *out)
{
    out->bytes = sizeof(struct stk_listing_head);
    for (;;) {
        if (!stk_listing_grow(out, out->bytes + PIECE_BYTES)) {
            return false;
        }
        ssize_t got = stk_sys_getdents(filling->fd, out->map + out->bytes, PIECE_BYTES);
        stk_claim_advance(&filling->record->claim);
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            return true;
        }
        out->bytes += (size_t)got;
    }
}

static enum stk_bypass reserve(struct filling *filling, int64_t blocks, int64_t inodes)
{
    struct stk_tier_shared *tier = filling->cache->tier.shared;
    enum stk_took took = stk_tier_take(tier, blocks, inodes);
    filling->blocks += took == STK_TOOK ? blocks : 0;
    return took == STK_TOOK           ? STK_BYPASS_NONE
           : took == STK_TOOK_NO_ROOM ? STK_BYPASS_BUDGET
                                      : STK_BYPASS_TIER;
}

/* File systems may take more blocks than the size says. */
static enum stk_bypass reserve_excess(struct filling *filling, const struct stk_entry_draft *draft)
{
    struct stat stat;
    if (stk_sys_fstat(draft->fd, &stat) != 0 || stat.st_ino != draft->ino) {
        return STK_BYPASS_TIER;
    }
    int64_t excess = stat.st_blocks - filling->blocks;
    return excess > 0 ? reserve(filling, excess, 0) : STK_BYPASS_NONE;
}

static bool write_names(const struct stk_entry_draft *draft, const struct stk_listing *listing)
{
    for (size_t done = 0; done < listing->bytes;) {
        ssize_t put = stk_entry_holds(draft) ? stk_sys_pwrite(draft->fd, listing->map + done,
                                                              listing->bytes - done, (off_t)done)
                                             : -EBADF;
        if (put <= 0) {
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

static enum stk_bypass write_entry(struct filling *filling, const struct stk_listing *listing)
{
    struct stk_entry_draft draft;
    const struct stk_tier *tier = &filling->cache->tier;
    if (stk_entry_begin(&draft, tier->home, listing->bytes) != 0) {
        return STK_BYPASS_TIER;
    }
    enum stk_bypass why =
        write_names(&draft, listing) ? reserve_excess(filling, &draft) : STK_BYPASS_TIER;
    stk_pressure_sign(tier, draft.path);
    if (why != STK_BYPASS_NONE) {
        stk_entry_discard(&draft);
        return why;
    }
    int error = stk_entry_publish(&draft, tier, filling->directory->root, filling->entry);
    stk_entry_close(&draft);
    return error == 0 ? STK_BYPASS_NONE : error == -EDQUOT ? STK_BYPASS_BUDGET : STK_BYPASS_TIER;
}

/* What is there by this name may be of an earlier run, of times that tell nothing, or have been
 * published by one who was killed. The same names: it is as good. Else it goes. */
static bool adopt(const struct filling *filling, const struct stk_listing *listing)
{
    struct stk_listing found;
    struct stat stat = {.st_blocks = 0};
    uint64_t key = filling->directory->key.low;
    int error = stk_listing_load(filling->entry, key, STK_LISTING_MOST_BYTES, &found);
    if (error == 0) {
        bool same = stk_listing_head_of(&found)->check == stk_listing_head_of(listing)->check;
        stk_listing_close(&found);
        if (same) {
            return true;
        }
    }
    if (error != -ENOENT &&
        stk_sys_fstatat(AT_FDCWD, filling->entry, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
        stk_sys_unlinkat(AT_FDCWD, filling->entry, 0) == 0) {
        stk_tier_free(filling->cache->tier.shared, stat.st_blocks, 1);
    }
    return false;
}

static enum stk_bypass keep(struct filling *filling, struct stk_listing *listing)
{
    const struct stk_tier *tier = &filling->cache->tier;
    stk_listing_seal(listing, filling->directory->key.low);
    if (adopt(filling, listing)) {
        return STK_BYPASS_NONE;
    }
    if (!stk_pressure_admits(tier, (int64_t)listing->bytes)) {
        return STK_BYPASS_MEMORY;
    }
    int64_t blocks = stk_budget_blocks_of(listing->bytes, tier->shared->block_bytes);
    enum stk_bypass why = reserve(filling, blocks, 1);
    if (why != STK_BYPASS_NONE) {
        return why;
    }
    why = write_entry(filling, listing);
    if (why != STK_BYPASS_NONE) {
        stk_tier_release(tier->shared, filling->blocks, 1);
    }
    return why;
}

static void finish(const struct filling *filling, enum stk_bypass why)
{
    const struct stk_tier *tier = &filling->cache->tier;
    _Atomic uint64_t *claim = &filling->record->claim;
    if (why == STK_BYPASS_NONE) {
        stk_claim_finish(claim, STK_PRESENT, tier->index, 0);
    } else if (why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY) {
        stk_claim_finish(claim, STK_REFUSED, tier->index,
                         why == STK_BYPASS_MEMORY ? stk_pressure_refusal(tier)
                                                  : atomic_load(&tier->shared->budget.generation));
    } else {
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    }
}

/* Somebody may have changed it meanwhile, and what was read be neither of before nor of after.
 * Where times tell nothing, they do not tell that either: each look may cost a question. But the
 * number may be another directory's by now, if another thread closes what is not its own. */
static bool is_unchanged(const struct filling *filling)
{
    struct stk_identity now;
    if (!stk_listing_is_told_by_times(filling->cache, filling->directory)) {
        return look_at(filling, AT_STATX_DONT_SYNC, &now) && now.dev == filling->identity.dev &&
               now.ino == filling->identity.ino;
    }
    stk_run_count_stat(&filling->cache->run, false);
    return look_at(filling, AT_STATX_FORCE_SYNC, &now) &&
           stk_identity_same_version(&now, &filling->identity);
}

/* It is trusted only when it is what was read, and nobody else serves it before it is present. */
static enum stk_bypass keep_if_unchanged(struct filling *filling, struct stk_listing *listing,
                                         int64_t opened_ns)
{
    enum stk_bypass why = is_unchanged(filling) ? keep(filling, listing) : STK_BYPASS_CHANGED;
    if (why == STK_BYPASS_NONE) {
        stk_trust_note(filling->cache, filling->record, &filling->identity, opened_ns);
    }
    return why;
}

/* Of a claim that is ours, which it ends. */
static bool run_fill(struct filling *filling, int64_t opened_ns, struct stk_listing *out)
{
    bool read = read_names(filling, out);
    finish(filling, read ? keep_if_unchanged(filling, out, opened_ns) : STK_BYPASS_CHANGED);
    if (!read) {
        stk_listing_close(out);
        stk_sys_lseek(filling->fd, 0, SEEK_SET);
    }
    return read;
}

/* The first look may be what a client remembers: the version of a time before the reading is as
 * good, since what changes after that makes another. */
bool stk_listing_fill(struct stk_cache *cache, const struct stk_place *directory, int fd,
                      int64_t opened_ns, struct stk_listing *out)
{
    struct filling filling = {.cache = cache, .directory = directory, .fd = fd};
    out->map = NULL;
    if (!stk_listing_may(cache, directory) || !stk_catalogue_is_current(&cache->catalogue) ||
        !look_at(&filling, 0, &filling.identity)) {
        return false;
    }
    uint32_t number = stk_listing_remember(cache, directory, &filling.identity);
    filling.record = stk_catalogue_record(&cache->catalogue, number);
    if (filling.record == NULL || !stk_listing_name_entry(cache, directory, filling.record,
                                                          cache->tier.index, filling.entry)) {
        return false;
    }
    enum turn turn = take_turn(&filling);
    stk_listing_tell_whose(filling.record, number, out);
    return turn == MADE ? stk_listing_serve(cache, directory, number, STK_LISTING_MOST_BYTES, out)
                        : turn == MINE && run_fill(&filling, opened_ns, out);
}
