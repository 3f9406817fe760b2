/* Descriptors of entries. See preload/entryfd.h. */
#include "preload/entryfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "cache/claim.h"
#include "cache/trust.h"
#include "preload/cover.h"
#include "preload/guard.h"
#include "preload/process.h"

#define TABLE_SLOTS 4096
#define ENTRY_MODE  (S_IFREG | 0400)
#define DELETED     " (deleted)" /* how the kernel marks the path of an unlinked file */

/* Records by the inode numbers of their entries; a slot is overwritten by the next that hashes to
 * it. What it says is checked against the record, so a stale slot does no harm. */
static _Atomic uint32_t table[TABLE_SLOTS];

static _Atomic uint32_t *slot_of(uint64_t entry_ino)
{
    return &table[(entry_ino * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TABLE_SLOTS];
}

void stk_entryfd_note(struct stk_cache *cache, uint32_t number)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL) {
        uint64_t ino = atomic_load_explicit(&record->entry_ino, memory_order_relaxed);
        atomic_store_explicit(slot_of(ino), number, memory_order_relaxed);
    }
}

bool stk_entryfd_may_be(const struct stat *stat)
{
    return stat->st_mode == ENTRY_MODE && stat->st_nlink <= 1 && stk_process_is_on();
}

static bool is_tier_device(struct stk_cache *cache, dev_t dev)
{
    if (cache->catalogue.header == NULL) {
        return false;
    }
    if (cache->tier.shared != NULL && cache->tier.dev == dev) {
        return true;
    }
    for (unsigned i = 0; i < STK_TIERS; i++) {
        const struct stk_tier_shared *shared = &cache->catalogue.header->tiers[i];
        if (atomic_load(&shared->setup) == STK_TIER_READY && shared->dev == dev) {
            return true;
        }
    }
    return false;
}

/* The cache if the file is on one of its tiers. It is not set up for a file of somebody else's that
 * only looks like an entry. */
static struct stk_cache *cache_with_device(const struct stat *stat)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL && stat->st_uid == stk_sys_geteuid()) {
        cache = stk_process_cache();
    }
    return cache != NULL && is_tier_device(cache, stat->st_dev) ? cache : NULL;
}

/* Whether this record's entry is on the device. Inode numbers mean nothing across tiers. */
static bool is_on_device(const struct stk_cache *cache, const struct stk_record *record, dev_t dev)
{
    unsigned index = stk_claim_load(&record->claim).tier;
    return cache->catalogue.header->tiers[index].dev == dev;
}

/* Whether something was done to the file, or may have been by another name, since it was asked. */
static bool is_doubtful(struct stk_cache *cache, const struct stk_record *record)
{
    for (unsigned i = 0; i < cache->roots.count; i++) {
        if (!stk_trust_is_unmarked(cache, &cache->roots.roots[i], record)) {
            return true;
        }
    }
    return false;
}

static void strip_deleted(char *path)
{
    size_t length = strlen(path), mark = sizeof DELETED - 1;
    if (length > mark && strcmp(path + length - mark, DELETED) == 0) {
        path[length - mark] = '\0';
    }
}

static bool name_of_fd(int fd, char entry[STK_PATH_BYTES])
{
    if (!stk_cover_fd_path(fd, entry)) {
        return false;
    }
    strip_deleted(entry);
    return true;
}

/* The origin of the entry open as fd, by its name; `record` 0 when the version is not known. */
static bool find_by_name(struct stk_cache *cache, int fd, char origin[STK_PATH_BYTES],
                         uint32_t *record)
{
    char entry[STK_PATH_BYTES];
    return name_of_fd(fd, entry) && stk_cache_find_entry(cache, entry, origin, record);
}

/* The origin's own word, if its path still leads to the same file. */
static bool ask_origin(const char *origin, const struct stk_identity *known,
                       struct stk_identity *out)
{
    struct statx answer;
    return stk_sys_statx(AT_FDCWD, origin, 0, STATX_BASIC_STATS | STATX_BTIME, &answer) == 0 &&
           stk_identity_from_statx(out, &answer) &&
           (known == NULL || (out->ino == known->ino && out->dev == known->dev));
}

static bool identify_by_name(struct stk_cache *cache, int fd, struct stk_identity *out)
{
    char origin[STK_PATH_BYTES];
    uint32_t number;
    if (!find_by_name(cache, fd, origin, &number)) {
        return false;
    }
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    struct stk_identity known;
    if (record == NULL || !stk_record_get_identity(record, &known)) {
        return ask_origin(origin, NULL, out);
    }
    if (!is_doubtful(cache, record) || !ask_origin(origin, &known, out)) {
        *out = known;
    }
    return true;
}

/* What was known when the entry was opened: old perhaps, but the origin's. */
static bool recall(const struct stk_record *record, uint64_t entry_ino, struct stk_identity *out)
{
    return atomic_load(&record->entry_ino) == entry_ino && stk_record_get_identity(record, out);
}

bool stk_entryfd_identify(int fd, const struct stat *stat, struct stk_identity *out)
{
    struct stk_cache *cache = cache_with_device(stat);
    if (cache == NULL) {
        return false;
    }
    uint32_t number = atomic_load_explicit(slot_of(stat->st_ino), memory_order_relaxed);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || !is_on_device(cache, record, stat->st_dev)) {
        return identify_by_name(cache, fd, out);
    }
    return (!is_doubtful(cache, record) &&
            stk_cache_stat_entry(cache, number, stat->st_ino, out)) ||
           identify_by_name(cache, fd, out) || recall(record, stat->st_ino, out);
}

bool stk_entryfd_identify_path(int dirfd, const char *path, const struct stat *stat,
                               struct stk_identity *out)
{
    if (cache_with_device(stat) == NULL) {
        return false;
    }
    int fd = stk_sys_openat(dirfd, path, O_PATH | O_CLOEXEC, 0);
    bool known = stk_entryfd_identify(fd, stat, out); /* without one: as far as is remembered */
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    return known;
}

/* Where a descriptor has no name that can be read, nobody knows what it stands for: then a name
 * that leads nowhere, as /proc/self/fd/N does then. Better a call that fails than an entry changed.
 */
static bool name_nowhere(char origin[STK_PATH_BYTES])
{
    return stk_text_copy(origin, STK_PATH_BYTES, "/proc/self/fd/none");
}

bool stk_entryfd_origin(int fd, char origin[STK_PATH_BYTES])
{
    char entry[STK_PATH_BYTES];
    struct stat stat;
    uint32_t record;
    if (stk_sys_fstat(fd, &stat) != 0 || !stk_entryfd_may_be(&stat)) {
        return false;
    }
    struct stk_cache *cache = cache_with_device(&stat);
    if (cache == NULL) {
        return false;
    }
    if (!name_of_fd(fd, entry)) {
        return name_nowhere(origin);
    }
    return stk_cache_find_entry(cache, entry, origin, &record);
}

/* Whether what is open as `fd` is the version that the record tells of. */
static bool is_version(struct stk_cache *cache, int fd, uint32_t number)
{
    struct statx answer;
    struct stk_identity known, found;
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || stk_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &answer) != 0) {
        return false;
    }
    return stk_record_get_identity(record, &known) && stk_identity_from_statx(&found, &answer) &&
           stk_identity_same_version(&found, &known);
}

int stk_entryfd_open_origin(int fd)
{
    struct stat stat;
    char path[STK_PATH_BYTES];
    uint32_t record;
    struct stk_cache *cache = NULL;
    if (stk_sys_fstat(fd, &stat) == 0 && stk_entryfd_may_be(&stat)) {
        cache = cache_with_device(&stat);
    }
    if (cache == NULL || !find_by_name(cache, fd, path, &record)) {
        return -ENOENT;
    }
    int origin = stk_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (origin >= 0 && !is_version(cache, origin, record)) {
        stk_sys_close(origin);
        return -ENOENT;
    }
    return origin;
}

bool stk_entryfd_may_name_fd(const char *path)
{
    return !stk_path_is_missing(path) &&
           (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0);
}

/* The same as stk_entryfd_origin, by a name of the descriptor. */
static bool origin_by_path(const char *path, char origin[STK_PATH_BYTES])
{
    struct stat stat;
    if (stk_sys_fstatat(AT_FDCWD, path, &stat, 0) != 0 || !stk_entryfd_may_be(&stat) ||
        cache_with_device(&stat) == NULL) {
        return false;
    }
    int fd = stk_sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    if (fd < 0) {
        return name_nowhere(origin);
    }
    bool known = stk_entryfd_origin(fd, origin);
    stk_sys_close(fd);
    return known;
}

bool stk_entryfd_may_be_meant(const char *path, int flags)
{
    if (stk_path_is_empty(path)) {
        return (flags & AT_EMPTY_PATH) != 0 && stk_process_is_on();
    }
    return (flags & AT_SYMLINK_NOFOLLOW) == 0 && stk_entryfd_may_name_fd(path) &&
           stk_process_is_on();
}

const char *stk_entryfd_subject(int dirfd, const char *path, int flags, char origin[STK_PATH_BYTES])
{
    struct stk_guard guard;
    if (!stk_process_is_on() || !stk_guard_enter(&guard)) {
        return path;
    }
    bool known = false;
    if (stk_entryfd_may_be_meant(path, flags)) {
        bool is_fd = stk_path_is_empty(path);
        known = is_fd ? stk_entryfd_origin(dirfd, origin) : origin_by_path(path, origin);
    }
    stk_guard_leave(&guard);
    return known ? origin : path;
}
