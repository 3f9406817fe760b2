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
    int fd;
    struct stk_record *record;
    struct stk_identity identity;
    char entry[STK_PATH_BYTES];
};

static bool look_at(const struct filling *filling, int flags, struct stk_identity *out)
{
    struct statx answer;
    unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    return stk_sys_statx(filling->fd, "", AT_EMPTY_PATH | flags, wanted, &answer) == 0 &&
           stk_listing_identify(filling->directory, &answer, out);
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
        if (stk_make_refusal(&filling->cache->tier, claim) != STK_BYPASS_NONE) {
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
        stk_sys_fstatat(AT_FDCWD, filling->entry, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
        stk_make_way(&filling->cache->tier, filling->entry, stat.st_blocks);
    }
    return false;
}

static enum stk_bypass keep(const struct filling *filling, struct stk_listing *listing)
{
    struct stk_making making = {.tier = &filling->cache->tier,
                                .root = filling->directory->root,
                                .path = filling->entry,
                                .bytes = listing->bytes};
    stk_listing_seal(listing, filling->directory->key.low);
    return adopt(filling, listing) ? STK_BYPASS_NONE
                                   : stk_make_entry(&making, write_names, listing);
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
static enum stk_bypass keep_if_unchanged(const struct filling *filling, struct stk_listing *listing,
                                         int64_t opened_ns)
{
    enum stk_bypass why = is_unchanged(filling) ? keep(filling, listing) : STK_BYPASS_CHANGED;
    if (why == STK_BYPASS_NONE) {
        stk_trust_note(filling->cache, filling->record, &filling->identity, opened_ns);
    }
    return why;
}

/* Of a claim that is ours, which it ends. */
static bool run_fill(const struct filling *filling, int64_t opened_ns, struct stk_listing *out)
{
    bool read = read_names(filling, out);
    stk_make_finish(&filling->cache->tier, &filling->record->claim,
                    read ? keep_if_unchanged(filling, out, opened_ns) : STK_BYPASS_CHANGED);
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
