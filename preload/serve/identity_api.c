/* Answers a wrapper's questions from the catalogue, and counts what it decodes. See
 * base/identity_api.h. */
#include "base/identity_api.h"

#include <fcntl.h>

#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/claim.h"
#include "cache/version/drop.h"
#include "cache/version/freshness.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"
#include "preload/serve/opened.h"

#define LINK_VERSION 1 /* changes with the fields that are hashed */

/* The fields of which a link is the hash; without gaps. */
struct identity_fields {
    uint64_t version, key, name, dev, ino, size;
    int64_t mtime_ns, ctime_ns;
};

static bool hash_record(const struct stk_record *record, struct stk_hash128 *out)
{
    struct stk_identity identity;
    if (!stk_record_get_identity(record, &identity)) {
        return false;
    }
    const struct identity_fields version = {.version = LINK_VERSION,
                                            .key = record->key,
                                            .name = stk_record_name(record),
                                            .dev = identity.dev,
                                            .ino = record->inode_changes == 0 ? identity.ino : 0,
                                            .size = identity.size,
                                            .mtime_ns = identity.mtime_ns,
                                            .ctime_ns = identity.ctime_ns};
    *out = stk_hash_128(&version, sizeof version, 0);
    return true;
}

/* ---- the file itself ---- */

/* Returns the record of the file that is open, by the path that it has now, which is `place`. 0: no
 * record. */
static uint32_t find_record(struct stk_cache *cache, int fd, struct stk_place *place)
{
    char path[STK_PATH_BYTES];
    bool covered = stk_cover_fd_path(fd, path) && stk_cover_may(path) &&
                   stk_cover(AT_FDCWD, path, place) == cache;
    bool known = covered && cache->catalogue.header != NULL && place->root->kind != STK_ROOT_MEMORY;
    return known ? stk_catalogue_find(&cache->catalogue, place->key) : 0;
}

/* Returns the number of the place's record, after asking the origin if need be. 0: no record. */
static uint32_t settle(struct stk_cache *cache, const struct stk_place *place, uint32_t number,
                       enum stk_identity_ask *how)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || *how == STK_IDENTITY_GUESS ||
        stk_freshness_of(cache, record) != STK_FRESHNESS_REVALIDATE) {
        return number;
    }
    *how = STK_IDENTITY_RUN; /* the origin is asked now */
    return stk_freshness_validate(cache, place);
}

/* Returns true if the record's version may be given to the wrapper. A guess is made at the answer
 * that would come if the origin were asked. If the origin is to be asked each time, no guess is
 * made. */
static bool is_good_for(struct stk_cache *cache, const struct stk_record *record,
                        enum stk_identity_ask how, struct stk_identity_answer *out)
{
    enum stk_freshness freshness = stk_freshness_of(cache, record);
    out->is_sure = freshness == STK_FRESHNESS_FRESH;
    return out->is_sure || (freshness == STK_FRESHNESS_REVALIDATE && how == STK_IDENTITY_GUESS &&
                            stk_freshness_would(cache, record));
}

/* Returns true if the record is of the version that the descriptor has. */
static bool is_of(const struct stk_record *record, struct stk_identity *seen)
{
    struct stk_identity known;
    if (!stk_record_get_identity(record, &known)) {
        return false;
    }
    seen->ino = record->inode_changes != 0 ? known.ino : seen->ino;
    return stk_identity_same_version(&known, seen) && known.dev == seen->dev;
}

static bool link_record(struct stk_cache *cache, int fd, const struct stk_place *place,
                        uint32_t number, enum stk_identity_ask how, struct stk_identity_answer *out)
{
    struct stk_identity seen;
    number = settle(cache, place, number, &how);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    int sync = how == STK_IDENTITY_NOW ? AT_STATX_FORCE_SYNC : AT_STATX_DONT_SYNC;
    return record != NULL && stk_identity_of_file(fd, sync, &seen) &&
           stk_freshness_is_in_place(cache, place, &seen) && is_good_for(cache, record, how, out) &&
           is_of(record, &seen) && hash_record(record, &out->link);
}

/* Links a file by its descriptor. If a guess does not fit, the file has become another version.
 * Apart, since it needs much stack. */
static __attribute__((noinline)) bool link_file(struct stk_cache *cache, int fd,
                                                enum stk_identity_ask how,
                                                struct stk_identity_answer *out)
{
    struct stk_place place;
    uint32_t number = find_record(cache, fd, &place);
    return number != 0 && (link_record(cache, fd, &place, number, how, out) ||
                           (how == STK_IDENTITY_GUESS &&
                            link_record(cache, fd, &place, number, STK_IDENTITY_RUN, out)));
}

/* Returns true if the record has no entry. A file that is being filled will have one. */
static bool is_alone(const struct stk_record *record)
{
    enum stk_state state = stk_claim_load(&record->claim).state;
    return state == STK_ABSENT || state == STK_REFUSED;
}

static bool link_alone(struct stk_cache *cache, const struct stk_place *place,
                       enum stk_identity_ask how, struct stk_identity_answer *out)
{
    uint32_t number = stk_catalogue_find(&cache->catalogue, place->key);
    number = place->root->kind != STK_ROOT_MEMORY ? settle(cache, place, number, &how) : 0;
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    return record != NULL && is_good_for(cache, record, how, out) && is_alone(record) &&
           hash_record(record, &out->link);
}

/* ---- what is told ---- */

/* Returns the cache, for a descriptor that may be a covered file's. Inside the guard. */
static struct stk_cache *cache_for(void)
{
    struct stk_cache *cache = stk_process_is_on() ? stk_process_cache() : NULL;
    return cache != NULL && cache->catalogue.header != NULL ? cache : NULL;
}

static bool link_any(struct stk_cache *cache, int fd, enum stk_identity_ask how,
                     struct stk_identity_answer *out)
{
    uint32_t number = stk_entryfd_record(cache, fd);
    *out = (struct stk_identity_answer){.is_entry = number != 0, .is_sure = true};
    return number != 0 ? hash_record(stk_catalogue_record(&cache->catalogue, number), &out->link)
                       : link_file(cache, fd, how, out);
}

static bool api_link(int fd, enum stk_identity_ask how, struct stk_identity_answer *out)
{
    struct stk_guard guard;
    if (!stk_guard_enter(&guard)) {
        return false;
    }
    struct stk_cache *cache = cache_for();
    bool known = cache != NULL && link_any(cache, fd, how, out);
    stk_guard_leave(&guard);
    return known;
}

/* Returns the cache that covers a path. Apart, so that calls on other paths need little stack. */
static struct stk_cache *cover(const char *path, struct stk_place *place)
{
    struct stk_cache *cache = stk_cover(AT_FDCWD, path, place);
    return cache != NULL && cache->catalogue.header != NULL ? cache : NULL;
}

static __attribute__((noinline)) bool link_covered(const char *path, enum stk_identity_ask how,
                                                   struct stk_identity_answer *out)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return false;
    }
    struct stk_cache *cache = cover(path, &place);
    bool known = cache != NULL && link_alone(cache, &place, how, out);
    stk_guard_leave(&guard);
    return known;
}

static bool api_link_path(const char *path, enum stk_identity_ask how,
                          struct stk_identity_answer *out)
{
    *out = (struct stk_identity_answer){.is_entry = false};
    return stk_cover_may(path) && link_covered(path, how, out);
}

static void count_served(struct stk_cache *cache, uint32_t number)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL) {
        stk_cache_count(cache, &(struct stk_outcome){
                                   .kind = STK_COUNT_HITS, .record = number, .size = record->size});
        stk_run_count_decoded(&cache->run, number);
    }
}

static void api_served(const char *path)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = cover(path, &place);
    if (cache != NULL) {
        stk_opened_note(&place);
        count_served(cache, stk_catalogue_find(&cache->catalogue, place.key));
    }
    stk_guard_leave(&guard);
}

static __attribute__((noinline)) void count_file(struct stk_cache *cache, int fd)
{
    struct stk_place place;
    stk_run_count_decoded(&cache->run, find_record(cache, fd, &place));
}

/* Drops the entry by its name. If that name has been unlinked, there is no entry, or another one of
 * the same version. */
static __attribute__((noinline)) void give_up(struct stk_cache *cache, int fd, uint32_t number)
{
    char entry[STK_PATH_BYTES];
    if (stk_drop_is_wanted(cache, number) && stk_entryfd_name(fd, entry)) {
        stk_drop_for_samples(cache, number, entry);
    }
}

static __attribute__((noinline)) void give_name(int fd, char *entry, size_t room)
{
    char name[STK_PATH_BYTES];
    if (!stk_entryfd_name(fd, name) || !stk_text_copy(entry, room, name)) {
        *entry = '\0';
    }
}

static void count_decoded(struct stk_cache *cache, int fd, bool kept, char *entry, size_t room)
{
    uint32_t number = stk_entryfd_record(cache, fd);
    bool alone = number != 0 && stk_run_count_decoded(&cache->run, number);
    if (number == 0) {
        count_file(cache, fd);
    } else if (kept && alone) {
        give_up(cache, fd, number);
    } else if (!kept && room > 0) {
        give_name(fd, entry, room);
    }
}

static void api_decoded(int fd, bool kept, char *entry, size_t room)
{
    struct stk_guard guard;
    if (room > 0) {
        *entry = '\0';
    }
    if (!stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = cache_for();
    if (cache != NULL) {
        count_decoded(cache, fd, kept, entry, room);
    }
    stk_guard_leave(&guard);
}

static __attribute__((noinline)) void give_up_name(struct stk_cache *cache, const char *entry)
{
    char origin[STK_PATH_BYTES];
    uint32_t number;
    if (stk_cache_find_entry(cache, entry, origin, &number) && number != 0 &&
        stk_run_has_decoded(&cache->run, number)) {
        stk_drop_for_samples(cache, number, entry);
    }
}

static void api_kept(const char *entry)
{
    struct stk_guard guard;
    if (!stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = cache_for();
    if (cache != NULL) {
        give_up_name(cache, entry);
    }
    stk_guard_leave(&guard);
}

__attribute__((visibility("default")))
const struct stk_identity_api stoker_identity_api = {.version = STK_IDENTITY_API_VERSION,
                                                     .link = api_link,
                                                     .link_path = api_link_path,
                                                     .served = api_served,
                                                     .decoded = api_decoded,
                                                     .kept = api_kept,
                                                     .note_opens = stk_opened_begin};
