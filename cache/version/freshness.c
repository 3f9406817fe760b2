#include "cache/version/freshness.h"

#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/catalogue/changes.h"
#include "cache/version/versions.h"

#define WANTED (STATX_BASIC_STATS | STATX_BTIME)

/* For so long each open asks: a writer of an earlier run may still be at work, by a descriptor or
 * map that Stoker does not see. */
#define WRITER_NS (24 * 3600 * STK_NS_PER_S)

#define START_SLACK_NS (STK_NS_PER_S / 50)

/* ---- believing ---- */

static struct stk_changes changes_of_file(struct stk_cache *cache, const struct stk_record *record)
{
    uint64_t inode = stk_changes_inode(stk_record_dev(record), record->ino);
    return stk_changes_later(stk_changes_last(&cache->catalogue, record->key),
                             stk_changes_last(&cache->catalogue, inode));
}

static struct stk_changes changes_of(struct stk_cache *cache, const struct stk_record *record)
{
    return stk_changes_later(changes_of_file(cache, record),
                             stk_changes_last(&cache->catalogue, STK_CHANGES_EVERYTHING));
}

/* The time of a look that is still to be made. */
#define A_LOOK_NOW INT64_MAX

/* The time when a thread of this process last asked for it: all before that is past. */
static _Atomic int64_t past_ns;

static __attribute__((noinline, cold)) bool is_later_than_now(int64_t ns)
{
    int64_t now_ns = stk_clock_boottime_ns();
    atomic_store_explicit(&past_ns, now_ns, memory_order_relaxed);
    return ns > now_ns;
}

/* Returns true if a look's time is later than now: a process with a wrong clock noted it. Asks for
 * the time only if the look is later than the last time that this process got. */
static bool is_ahead(int64_t asked_ns)
{
    bool perhaps = asked_ns > atomic_load_explicit(&past_ns, memory_order_relaxed);
    return __builtin_expect(perhaps, 0) && asked_ns != A_LOOK_NOW && is_later_than_now(asked_ns);
}

static bool is_after(int64_t asked_ns, struct stk_changes changes)
{
    return asked_ns != 0 && asked_ns > changes.changed_ns && asked_ns > changes.written_ns &&
           !is_ahead(asked_ns);
}

static int64_t validated(const struct stk_record *record)
{
    return atomic_load_explicit(&record->validated_ns, memory_order_acquire);
}

static bool is_in_run(const struct stk_cache *cache, int64_t ns)
{
    return ns != 0 && ns >= cache->run_start_ns;
}

/* The run's start may be rounded up, by a tick of the kernel's clock: what was opened for writing
 * in its first moments counts as well. */
static bool is_written_in_run(const struct stk_cache *cache, int64_t written_ns)
{
    return written_ns != 0 && is_in_run(cache, written_ns + START_SLACK_NS);
}

/* Returns true if an earlier run's writer may still be at work. */
static bool is_late(int64_t written_ns)
{
    return written_ns != 0 && stk_clock_boottime_ns() - written_ns < WRITER_NS;
}

static enum stk_freshness freshness(const struct stk_cache *cache, int64_t asked_ns,
                                    struct stk_changes changes)
{
    if (is_written_in_run(cache, changes.written_ns)) {
        return STK_FRESHNESS_WRITTEN;
    }
    bool believed = is_after(asked_ns, changes);
    switch (cache->options.fresh) {
    case STK_FRESH_OPEN:
        return STK_FRESHNESS_REVALIDATE;
    case STK_FRESH_NEVER:
        return believed ? STK_FRESHNESS_FRESH : STK_FRESHNESS_REVALIDATE;
    default:
        believed = believed && is_in_run(cache, asked_ns) && !is_late(changes.written_ns);
        return believed ? STK_FRESHNESS_FRESH : STK_FRESHNESS_REVALIDATE;
    }
}

static const struct stk_changes nothing = {0, 0};

/* Returns true if the table of changes holds nothing newer. */
static bool is_quiet(const struct stk_cache *cache, const struct stk_record *record)
{
    return stk_changes_none_since(&cache->catalogue, validated(record));
}

/* When the origin was last looked at, or the descriptor that was copied from. */
static int64_t look_of(int64_t validated_ns)
{
    return validated_ns < 0 ? -validated_ns : validated_ns;
}

static int64_t looked_at(const struct stk_record *record)
{
    return look_of(validated(record));
}

static struct stk_changes known_changes(struct stk_cache *cache, const struct stk_record *record)
{
    return is_quiet(cache, record) ? nothing : changes_of(cache, record);
}

enum stk_freshness stk_freshness_of(struct stk_cache *cache, const struct stk_record *record)
{
    return freshness(cache, validated(record), known_changes(cache, record));
}

bool stk_freshness_would(struct stk_cache *cache, const struct stk_record *record)
{
    return freshness(cache, A_LOOK_NOW, known_changes(cache, record)) == STK_FRESHNESS_FRESH;
}

bool stk_freshness_is_written(struct stk_cache *cache, const struct stk_place *place)
{
    return is_written_in_run(cache, stk_changes_last(&cache->catalogue, place->key.low).written_ns);
}

bool stk_freshness_is_inode_written(struct stk_cache *cache, uint64_t dev, uint64_t ino)
{
    return is_written_in_run(
        cache, stk_changes_last(&cache->catalogue, stk_changes_inode(dev, ino)).written_ns);
}

bool stk_freshness_is_unmarked(struct stk_cache *cache, const struct stk_record *record)
{
    return is_after(looked_at(record), known_changes(cache, record));
}

bool stk_freshness_is_untouched(struct stk_cache *cache, const struct stk_record *record)
{
    struct stk_changes changes = is_quiet(cache, record) ? nothing : changes_of_file(cache, record);
    return is_after(looked_at(record), changes);
}

bool stk_freshness_is_young(const struct stk_cache *cache, const struct stk_identity *identity)
{
    int64_t oldest_young = stk_clock_realtime_ns() - cache->options.min_age_ns;
    return identity->mtime_ns > oldest_young || identity->ctime_ns > oldest_young;
}

/* ---- looking ---- */

/* Notes a look, unless a later one is noted. A noted time that is later than now is replaced. */
void stk_freshness_note(const struct stk_cache *cache, struct stk_record *record,
                        const struct stk_identity *identity, int64_t asked_ns)
{
    int64_t seen = atomic_load(&record->validated_ns);
    if (stk_freshness_is_young(cache, identity)) {
        return;
    }
    while ((seen < asked_ns || is_ahead(seen)) &&
           !atomic_compare_exchange_weak(&record->validated_ns, &seen, asked_ns)) {
    }
}

/* One question, or two where the path ends in a link. */
int stk_freshness_look(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                       struct stk_look *look)
{
    int flags = AT_STATX_FORCE_SYNC | AT_SYMLINK_NOFOLLOW;
    look->leaf = STK_LEAF_PLAIN;
    look->asked_ns = stk_clock_boottime_ns();
    stk_run_count(&cache->run, STK_RUN_COUNTER(stats_asked), 1);
    int error = stk_sys_statx(place->dirfd, place->path, flags, WANTED, &look->answer);
    if (error == 0 && S_ISLNK(look->answer.stx_mode)) {
        look->leaf = STK_LEAF_LINK;
        flags = AT_STATX_FORCE_SYNC;
        error =
            nofollow ? 0 : stk_sys_statx(place->dirfd, place->path, flags, WANTED, &look->answer);
    }
    return error;
}

/* Looks at an open path, whose kind the walk to it has shown already. */
static int look_at_open(const struct stk_place *place, int fd, bool nofollow, struct stk_look *look)
{
    bool link = S_ISLNK(look->answer.stx_mode), directory = S_ISDIR(look->answer.stx_mode);
    look->leaf = link ? STK_LEAF_LINK : STK_LEAF_PLAIN;
    if (directory) {
        look->asked_ns = 0;
        return stk_sys_statx(fd, "", AT_EMPTY_PATH, WANTED, &look->answer);
    }
    return link && !nofollow
               ? stk_sys_statx(place->dirfd, place->path, AT_STATX_FORCE_SYNC, WANTED,
                               &look->answer)
               : stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, WANTED, &look->answer);
}

int stk_freshness_look_first(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                             struct stk_look *look)
{
    const int known = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    int64_t asked_ns = stk_clock_boottime_ns();
    STK_OWNED_FD int fd =
        stk_sys_openat(place->dirfd, place->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM) {
        return stk_freshness_look(cache, place, nofollow, look);
    }
    look->asked_ns = asked_ns;
    stk_run_count(&cache->run, STK_RUN_COUNTER(stats_asked), 1);
    if (fd < 0) {
        return fd;
    }
    int error = stk_sys_statx(fd, "", known, STATX_TYPE, &look->answer);
    return error == 0 ? look_at_open(place, fd, nofollow, look) : error;
}

uint32_t stk_freshness_remember(struct stk_cache *cache, const struct stk_place *place,
                                const struct stk_look *look)
{
    struct stk_identity identity;
    if (!S_ISREG(look->answer.stx_mode) || !stk_identity_from_statx(&identity, &look->answer) ||
        !stk_root_is_there(place->root)) {
        return 0;
    }
    if (stk_freshness_is_young(cache, &identity)) {
        stk_freshness_forget(cache, place, &identity);
        return 0;
    }
    uint32_t number = stk_versions_remember(cache, place, &identity);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return 0;
    }
    stk_claim_set_leaf(&record->claim, look->leaf);
    stk_freshness_note(cache, record, &identity, look->asked_ns);
    return number;
}

void stk_freshness_forget(struct stk_cache *cache, const struct stk_place *place,
                          const struct stk_identity *identity)
{
    uint32_t number = stk_catalogue_find(&cache->catalogue, place->key);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL && !stk_record_describes(record, identity)) {
        stk_changes_note(&cache->catalogue, place->key.low, STK_CHANGED, NULL);
    }
}

uint32_t stk_freshness_validate(struct stk_cache *cache, const struct stk_place *place)
{
    struct stk_look look;
    return stk_freshness_look(cache, place, false, &look) == 0
               ? stk_freshness_remember(cache, place, &look)
               : 0;
}

bool stk_freshness_is_in_place(struct stk_cache *cache, const struct stk_place *place,
                               const struct stk_identity *identity)
{
    struct stk_look look;
    return place->root->inode_counts || identity->nlink > 0 ||
           (stk_freshness_look(cache, place, false, &look) == 0 && look.answer.stx_nlink == 0);
}

/* Returns true if a descriptor is of the version of this record; `sync` says how much is asked of a
 * server. */
static bool is_version_of(const struct stk_record *record, int fd, int sync,
                          struct stk_identity *identity)
{
    struct statx answer;
    struct stk_identity known;
    return stk_record_get_identity(record, &known) &&
           stk_sys_statx(fd, "", AT_EMPTY_PATH | sync, WANTED, &answer) == 0 &&
           stk_identity_from_statx(identity, &answer) &&
           stk_identity_same_version(&known, identity);
}

void stk_freshness_queue(struct stk_record *record, int64_t opened_ns)
{
    int64_t seen = atomic_load(&record->validated_ns);
    while (((seen <= 0 && -seen < opened_ns) || is_ahead(look_of(seen))) &&
           !atomic_compare_exchange_weak(&record->validated_ns, &seen, -opened_ns)) {
    }
}

bool stk_freshness_queue_fd(struct stk_record *record, int origin_fd, int64_t opened_ns)
{
    struct stk_identity identity;
    bool same = is_version_of(record, origin_fd, AT_STATX_DONT_SYNC, &identity);
    if (same) {
        stk_freshness_queue(record, opened_ns);
    }
    return same;
}

bool stk_freshness_validate_fd(struct stk_cache *cache, struct stk_record *record, int origin_fd,
                               int64_t opened_ns)
{
    struct stk_identity identity;
    stk_run_count(&cache->run, STK_RUN_COUNTER(stats_asked), 1);
    if (!is_version_of(record, origin_fd, AT_STATX_FORCE_SYNC, &identity)) {
        return false;
    }
    stk_freshness_note(cache, record, &identity, opened_ns);
    return true;
}
