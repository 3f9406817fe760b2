/* Makes listings. See cache/listing/listing.h. */
#include "cache/listing/listing_parts.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "cache/version/entry_build.h"
#include "cache/version/freshness.h"

#define ATTEMPTS 8

struct filling {
    struct stk_cache *cache;
    const struct stk_place *directory;
    const struct stk_listing_source *source;
    struct stk_record *record;
    struct stk_identity identity;
    struct stk_revalidation_queue_slot *queued; /* the slot of its later revalidation, or NULL */
    struct stk_entry_build build;
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

/* Returns whose turn it is. A listing that another process has just made is there to be served. */
static enum turn take_turn(struct filling *filling)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stk_claim claim = stk_listing_await_claim(filling->record);
        bool is_fresh = stk_freshness_of(filling->cache, filling->record) == STK_FRESHNESS_FRESH;
        if (claim.state == STK_PRESENT && is_fresh) {
            return MADE;
        }
        if (stk_entry_build_refusal(filling->cache, claim) != STK_BYPASS_NONE) {
            return NOBODYS;
        }
        if (claim.state != STK_FILLING && stk_claim_take(&filling->record->claim, claim)) {
            return MINE;
        }
    }
    return NOBODYS;
}

/* Writes the draft for stk_entry_build_make. */
static enum stk_bypass write_names(void *context, const struct stk_entry_draft *draft)
{
    const struct stk_listing *listing = context;
    return stk_entry_build_why(stk_entry_write(draft, listing->map, listing->bytes, 0));
}

/* Adopts the entry at this path if it has the same names, which makes it as good; else removes it.
 * It may be of an earlier run, whose times prove nothing, or published by a process that was killed
 * then. */
static bool adopt_this(const struct filling *filling, const struct stk_listing *listing)
{
    struct stk_listing found;
    struct stat stat = {.st_blocks = 0};
    uint64_t whose = stk_listing_whose(filling->directory);
    int error = stk_listing_load(filling->entry, whose, STK_LISTING_MOST_BYTES, &found);
    if (error == 0) {
        bool same = stk_listing_head_of(&found)->check == stk_listing_head_of(listing)->check;
        stk_listing_close(&found);
        if (same) {
            return true;
        }
    }
    if (error != -ENOENT &&
        stk_sys_fstatat(AT_FDCWD, filling->entry, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
        stk_entry_build_way(filling->build.tier, filling->entry, stat.st_blocks);
    }
    return false;
}

/* In whichever tier it is. */
static bool adopt(struct filling *filling, const struct stk_listing *listing)
{
    bool adopted = false;
    filling->build.tier = NULL;
    while (!adopted && stk_entry_build_next_tier(&filling->build)) {
        adopted = adopt_this(filling, listing);
    }
    return adopted;
}

static enum stk_bypass keep(struct filling *filling, struct stk_listing *listing)
{
    filling->build.bytes = listing->bytes;
    stk_listing_seal(listing, stk_listing_whose(filling->directory));
    return adopt(filling, listing) ? STK_BYPASS_NONE
                                   : stk_entry_build_make(&filling->build, write_names, listing);
}

/* Returns true if the descriptor is still the same directory, as far as this client knows. If
 * another thread closes numbers that are not its own, the number may be another directory's. */
static bool is_same(const struct filling *filling)
{
    struct stk_identity now;
    return look_at(filling, AT_STATX_DONT_SYNC, &now) && now.dev == filling->identity.dev &&
           now.ino == filling->identity.ino;
}

/* Returns true if the place's path leads to the directory. */
static bool is_there(const struct filling *filling)
{
    struct stk_look look;
    struct stk_identity found;
    return filling->source->by_path ||
           (stk_freshness_look(filling->cache, filling->directory, false, &look) == 0 &&
            stk_listing_identify(filling->directory, &look.answer, &found) &&
            found.ino == filling->identity.ino);
}

/* Checks that the directory did not change while it was read: the names may be neither those before
 * nor those after. Where times prove nothing, they do not prove that either. */
static bool validate(const struct filling *filling)
{
    int64_t opened_ns = filling->source->opened_ns;
    if (!is_there(filling)) {
        return false;
    }
    if (stk_listing_is_told_by_times(filling->cache, filling->directory)) {
        return stk_freshness_validate_fd(filling->cache, filling->record, filling->source->fd,
                                         opened_ns);
    }
    stk_freshness_note(filling->cache, filling->record, &filling->identity, opened_ns);
    return true;
}

/* Checks that the directory did not change. If the command asks in this process's place, queues the
 * question for it. */
static bool is_unchanged(struct filling *filling)
{
    struct stk_revalidation_queue *queued = stk_run_revalidation_queue(&filling->cache->run);
    const struct stk_place *directory = filling->directory;
    if (!is_same(filling)) {
        return false;
    }
    if (stk_listing_is_told_by_times(filling->cache, directory) || !filling->source->by_path) {
        filling->queued = stk_revalidation_queue_reserve(queued, directory->root, directory->below);
    }
    if (filling->queued == NULL) {
        return validate(filling);
    }
    stk_freshness_queue(filling->record, filling->source->opened_ns);
    return true;
}

/* Fills under this process's claim, and ends it. The listing is not served before it is present. */
static bool run_fill(struct filling *filling, struct stk_listing *out)
{
    /* Without a name, not even its own, it was removed, or its file system has lost its way in it.
     */
    bool read = stk_listing_read(out, filling->source->fd, filling->record) &&
                out->bytes > sizeof(struct stk_listing_head);
    enum stk_bypass why = read && is_unchanged(filling) ? keep(filling, out) : STK_BYPASS_CHANGED;
    stk_entry_build_finish(&filling->build, &filling->record->claim, why);
    stk_revalidation_queue_end(stk_run_revalidation_queue(&filling->cache->run), filling->queued,
                               why == STK_BYPASS_NONE);
    if (why == STK_BYPASS_NONE && !stk_root_is_local(filling->directory->root)) {
        stk_listing_leave_note(filling->cache, filling->directory, out->record);
    }
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
    filling.build = (struct stk_entry_build){.cache = cache,
                                             .place = directory,
                                             .name = stk_record_name(filling.record),
                                             .path = filling.entry};
    if (!stk_entry_build_next_tier(&filling.build)) {
        return false;
    }
    enum turn turn = take_turn(&filling);
    stk_listing_tell_whose(filling.record, number, out);
    return turn == MADE ? stk_listing_serve(cache, directory, number, STK_LISTING_MOST_BYTES, out)
                        : turn == MINE && run_fill(&filling, out);
}
