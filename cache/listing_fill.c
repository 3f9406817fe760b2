/* Making listings. See cache/listing.h. */
#include "cache/listing_parts.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "cache/make.h"
#include "cache/trust.h"

#define ATTEMPTS    8
#define PIECE_BYTES (32u << 10) /* as libc asks for */

struct filling {
    struct stk_cache *cache;
    const struct stk_place *directory;
    const struct stk_listing_source *source;
    struct stk_record *record;
    struct stk_identity identity;
    struct stk_deferred_slot *deferred; /* its validation, which was put off; NULL: it was not */
    struct stk_making making;
    char entry[STK_PATH_BYTES];
};

static bool look_at(const struct filling *filling, int flags, struct stk_identity *out)
{
    struct statx answer;
    unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    return stk_sys_statx(filling->source->fd, "", AT_EMPTY_PATH | flags, wanted, &answer) == 0 &&
           stk_listing_identify(filling->directory, &answer, out);
}

enum turn { NOBODYS, MINE, MADE };

/* Whose turn it is. What another has just made is there to be served. */
static enum turn take_turn(struct filling *filling)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stk_claim claim = stk_listing_settled_claim(filling->record);
        bool trusted = stk_trust_of(filling->cache, filling->record) == STK_TRUST_YES;
        if (claim.state == STK_PRESENT && trusted) {
            return MADE;
        }
        if (stk_make_refusal(filling->cache, claim) != STK_BYPASS_NONE) {
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
        ssize_t got = stk_sys_getdents(filling->source->fd, out->map + out->bytes, PIECE_BYTES);
        stk_claim_advance(&filling->record->claim);
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            /* Not even itself: it was removed, or its file system has lost its way in it. */
            return out->bytes > sizeof(struct stk_listing_head);
        }
        out->bytes += (size_t)got;
    }
}

/* Of stk_make_entry. */
static enum stk_bypass write_names(void *context, const struct stk_entry_draft *draft)
{
    const struct stk_listing *listing = context;
    for (size_t done = 0; done < listing->bytes;) {
        ssize_t put = stk_entry_holds(draft) ? stk_sys_pwrite(draft->fd, listing->map + done,
                                                              listing->bytes - done, (off_t)done)
                                             : -EBADF;
        if (put <= 0) {
            return STK_BYPASS_TIER;
        }
        done += (size_t)put;
    }
    return STK_BYPASS_NONE;
}

/* What is there by this name may be of an earlier run, of times that tell nothing, or have been
 * published by one who was killed. The same names: it is as good. Else it goes. */
static bool adopt_this(const struct filling *filling, const struct stk_listing *listing)
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
        stk_sys_fstatat(AT_FDCWD, filling->entry, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
        stk_make_way(filling->making.tier, filling->entry, stat.st_blocks);
    }
    return false;
}

/* In whichever tier it is. */
static bool adopt(struct filling *filling, const struct stk_listing *listing)
{
    bool adopted = false;
    filling->making.tier = NULL;
    while (!adopted && stk_make_next_tier(&filling->making)) {
        adopted = adopt_this(filling, listing);
    }
    return adopted;
}

static enum stk_bypass keep(struct filling *filling, struct stk_listing *listing)
{
    filling->making.bytes = listing->bytes;
    stk_listing_seal(listing, filling->directory->key.low);
    return adopt(filling, listing) ? STK_BYPASS_NONE
                                   : stk_make_entry(&filling->making, write_names, listing);
}

/* Whether it is the same directory, as far as this client knows. The number may be another
 * directory's by now, if another thread closes what is not its own. */
static bool is_same(const struct filling *filling)
{
    struct stk_identity now;
    return look_at(filling, AT_STATX_DONT_SYNC, &now) && now.dev == filling->identity.dev &&
           now.ino == filling->identity.ino;
}

/* Whether its path leads to it. */
static bool is_there(const struct filling *filling)
{
    struct stk_look look;
    struct stk_identity found;
    return filling->source->by_path ||
           (stk_trust_look(filling->cache, filling->directory, false, &look) == 0 &&
            stk_listing_identify(filling->directory, &look.answer, &found) &&
            found.ino == filling->identity.ino);
}

/* Somebody may have changed it meanwhile, and what was read be neither of before nor of after.
 * Where times tell nothing, they do not tell that either. */
static bool validate(const struct filling *filling)
{
    int64_t opened_ns = filling->source->opened_ns;
    if (!is_there(filling)) {
        return false;
    }
    if (stk_listing_is_told_by_times(filling->cache, filling->directory)) {
        return stk_trust_validate_fd(filling->cache, filling->record, filling->source->fd,
                                     opened_ns);
    }
    stk_trust_note(filling->cache, filling->record, &filling->identity, opened_ns);
    return true;
}

/* What has to be asked for is asked later, where somebody will do that in our place. */
static bool is_unchanged(struct filling *filling)
{
    struct stk_deferred *deferred = stk_run_deferred(&filling->cache->run);
    const struct stk_place *directory = filling->directory;
    if (!is_same(filling)) {
        return false;
    }
    if (stk_listing_is_told_by_times(filling->cache, directory) || !filling->source->by_path) {
        filling->deferred = stk_deferred_reserve(deferred, directory->root, directory->below);
    }
    if (filling->deferred == NULL) {
        return validate(filling);
    }
    stk_trust_defer(filling->record, filling->source->opened_ns);
    return true;
}

static void settle_deferred(const struct filling *filling, enum stk_bypass why)
{
    if (filling->deferred != NULL && why == STK_BYPASS_NONE) {
        stk_deferred_put(stk_run_deferred(&filling->cache->run), filling->deferred);
    } else if (filling->deferred != NULL) {
        stk_deferred_give_back(filling->deferred);
    }
}

/* Of a claim that is ours, which it ends: nobody serves it before it is present. */
static bool run_fill(struct filling *filling, struct stk_listing *out)
{
    bool read = read_names(filling, out);
    enum stk_bypass why = read && is_unchanged(filling) ? keep(filling, out) : STK_BYPASS_CHANGED;
    stk_make_finish(&filling->making, &filling->record->claim, why);
    settle_deferred(filling, why);
    if (!read) {
        stk_listing_close(out);
        stk_sys_lseek(filling->source->fd, 0, SEEK_SET);
    }
    return read;
}

/* The first look is what a client remembers: the version of a time before the reading is as good,
 * since what changes after that makes another. */
bool stk_listing_fill(struct stk_cache *cache, const struct stk_place *directory,
                      const struct stk_listing_source *source, struct stk_listing *out)
{
    struct filling filling = {.cache = cache, .directory = directory, .source = source};
    out->map = NULL;
    if (!stk_listing_may(cache, directory) || !stk_catalogue_is_current(&cache->catalogue) ||
        !look_at(&filling, AT_STATX_DONT_SYNC, &filling.identity)) {
        return false;
    }
    uint32_t number = stk_listing_remember(cache, directory, &filling.identity);
    filling.record = stk_catalogue_record(&cache->catalogue, number);
    if (filling.record == NULL) {
        return false;
    }
    filling.making = (struct stk_making){.cache = cache,
                                         .place = directory,
                                         .name = stk_record_name(filling.record),
                                         .path = filling.entry};
    if (!stk_make_next_tier(&filling.making)) {
        return false;
    }
    enum turn turn = take_turn(&filling);
    stk_listing_tell_whose(filling.record, number, out);
    return turn == MADE ? stk_listing_serve(cache, directory, number, STK_LISTING_MOST_BYTES, out)
                        : turn == MINE && run_fill(&filling, out);
}
