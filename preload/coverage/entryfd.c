/* Recognises descriptors of entries, and finds the identities of their origins. */
#include "preload/coverage/entryfd.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/claim.h"
#include "cache/origin/entry_name.h"
#include "cache/version/freshness.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/process.h"

#define TABLE_SLOTS 4096

/* Records by the inode numbers of their entries. A slot is overwritten by the next entry that
 * hashes to it. Its content is checked against the record, so a stale slot does no harm. */
static _Atomic uint32_t table[TABLE_SLOTS];

static _Atomic uint32_t *slot_of(uint64_t entry_ino)
{
    return &table[(entry_ino * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TABLE_SLOTS];
}

/* One bit for each inode of an origin, by the inode's lowest bits. */
#define NOTED_BITS (1u << 16)
static _Atomic uint64_t noted[NOTED_BITS / 64];

static void note_origin(uint64_t ino)
{
    _Atomic uint64_t *word = &noted[ino % NOTED_BITS / 64];
    uint64_t bit = UINT64_C(1) << (ino % 64);
    if ((atomic_load(word) & bit) == 0) {
        atomic_fetch_or(word, bit);
    }
}

bool stk_entryfd_has_noted(uint64_t ino)
{
    return (atomic_load(&noted[ino % NOTED_BITS / 64]) >> (ino % 64) & 1) != 0;
}

void stk_entryfd_note(struct stk_cache *cache, uint32_t number)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL) {
        uint64_t ino = atomic_load_explicit(&record->entry_ino, memory_order_relaxed);
        atomic_store_explicit(slot_of(ino), number, memory_order_relaxed);
        note_origin(atomic_load_explicit(&record->ino, memory_order_relaxed));
    }
}

bool stk_entryfd_may_be(const struct stat *stat)
{
    mode_t mode = stat->st_mode & ~(mode_t)S_IRGRP; /* which an older version let a group have */
    return mode == (S_IFREG | STK_ENTRY_MODE) && stat->st_nlink <= 1 && stk_process_is_on();
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

struct stk_cache *stk_entryfd_cache_with_device(const struct stat *stat)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL && stat->st_uid == stk_sys_geteuid()) {
        cache = stk_process_cache();
    }
    return cache != NULL && is_tier_device(cache, stat->st_dev) ? cache : NULL;
}

/* Returns true if this record's entry is on the device. Inode numbers mean nothing across tiers. */
static bool is_on_device(const struct stk_cache *cache, const struct stk_record *record, dev_t dev)
{
    unsigned index = stk_claim_load(&record->claim).tier;
    return cache->catalogue.header->tiers[index].dev == dev;
}

size_t stk_entryfd_mark_bytes(const char *path)
{
    size_t length = strlen(path), mark = sizeof STK_DELETED_MARK - 1;
    return length > mark && strcmp(path + length - mark, STK_DELETED_MARK) == 0 ? mark : 0;
}

/* Finds the path of an open file, without the kernel's mark. A name that really ends so keeps its
 * end. A file that has lost its last link gets no more links, so a path read after that is
 * certain. */
bool stk_entryfd_name(int fd, char entry[STK_PATH_BYTES])
{
    struct stat stat;
    if (!stk_cover_fd_path(fd, entry)) {
        return false;
    }
    if (stk_entryfd_mark_bytes(entry) == 0) {
        return true;
    }
    if (stk_sys_fstat(fd, &stat) != 0 || (stat.st_nlink == 0 && !stk_cover_fd_path(fd, entry))) {
        return false;
    }
    entry[strlen(entry) - (stat.st_nlink == 0 ? stk_entryfd_mark_bytes(entry) : 0)] = '\0';
    return true;
}

enum stk_likeness stk_entryfd_compare(struct stk_cache *cache, int dirfd, const char *path,
                                      int flags, const char *entry, struct stk_identity *out)
{
    struct statx answer;
    bool there = stk_sys_statx(dirfd, path, flags, STATX_BASIC_STATS | STATX_BTIME, &answer) == 0 &&
                 stk_identity_from_statx(out, &answer);
    return there ? stk_cache_compare_entry(cache, entry, out) : STK_ANOTHER_FILE;
}

/* The origin, the record and the identity that an entry's name leads to. */
struct known {
    char origin[STK_PATH_BYTES];
    const struct stk_record *record; /* NULL: no record, or a damaged one */
    struct stk_identity identity;    /* the record's */
};

static bool look_up(struct stk_cache *cache, const char *entry, struct known *out)
{
    uint32_t number;
    if (!stk_cache_find_entry(cache, entry, out->origin, &number)) {
        return false;
    }
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    bool whole = record != NULL && stk_record_get_identity(record, &out->identity);
    out->record = whole ? record : NULL;
    return true;
}

static bool identify_by_name(struct stk_cache *cache, int fd, struct stk_identity *out)
{
    char entry[STK_PATH_BYTES];
    struct known known;
    if (!stk_entryfd_name(fd, entry) || !look_up(cache, entry, &known)) {
        return false;
    }
    bool is_known = known.record != NULL;
    bool asks = !is_known || !stk_freshness_is_unmarked(cache, known.record);
    if (!asks ||
        stk_entryfd_compare(cache, AT_FDCWD, known.origin, 0, entry, out) == STK_ANOTHER_FILE) {
        *out = is_known ? known.identity : *out;
        return is_known;
    }
    if (is_known) { /* the entry's bytes and their number are those of the cached version */
        out->size = known.identity.size;
        out->blocks = known.identity.blocks;
    }
    return true;
}

/* Returns the identity that was known when the entry was opened: old perhaps, but the origin's. */
static bool recall(const struct stk_record *record, uint64_t entry_ino, struct stk_identity *out)
{
    return atomic_load(&record->entry_ino) == entry_ino && stk_record_get_identity(record, out);
}

bool stk_entryfd_identify(int fd, const struct stat *stat, struct stk_identity *out)
{
    struct stk_cache *cache = stk_entryfd_cache_with_device(stat);
    if (cache == NULL) {
        return false;
    }
    uint32_t number = atomic_load_explicit(slot_of(stat->st_ino), memory_order_relaxed);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || !is_on_device(cache, record, stat->st_dev)) {
        return identify_by_name(cache, fd, out);
    }
    return (stk_freshness_is_unmarked(cache, record) &&
            stk_cache_stat_entry(cache, number, stat->st_ino, out)) ||
           identify_by_name(cache, fd, out) || recall(record, stat->st_ino, out);
}

static __attribute__((noinline)) uint32_t record_by_name(struct stk_cache *cache, int fd)
{
    char entry[STK_PATH_BYTES], origin[STK_PATH_BYTES];
    uint32_t number = 0;
    bool known = stk_entryfd_name(fd, entry) && stk_cache_find_entry(cache, entry, origin, &number);
    return known ? number : 0;
}

/* Reads a descriptor's stat as fstat does, but asks no server about a descriptor of the origin. */
static bool look_without_asking(int fd, struct stat *out)
{
    struct statx answer;
    struct stk_identity identity;
    bool known = stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
                               &answer) == 0 &&
                 stk_identity_from_statx(&identity, &answer);
    if (known) {
        stk_identity_to_stat(&identity, out);
    }
    return known;
}

bool stk_entryfd_looks_so(int fd, struct stat *out)
{
    return stk_process_is_on() && look_without_asking(fd, out) && stk_entryfd_may_be(out);
}

/* Apart, since it needs much stack. */
__attribute__((noinline)) bool stk_entryfd_is_none(int fd)
{
    char entry[STK_PATH_BYTES], origin[STK_PATH_BYTES];
    struct stat stat;
    uint32_t record;
    if (!look_without_asking(fd, &stat)) {
        return false;
    }
    struct stk_cache *cache =
        stk_entryfd_may_be(&stat) ? stk_entryfd_cache_with_device(&stat) : NULL;
    return cache == NULL ||
           (stk_entryfd_name(fd, entry) && !stk_cache_find_entry(cache, entry, origin, &record));
}

uint32_t stk_entryfd_record(struct stk_cache *cache, int fd)
{
    struct stat stat;
    if (!look_without_asking(fd, &stat) || !stk_entryfd_may_be(&stat) ||
        !is_tier_device(cache, stat.st_dev)) {
        return 0;
    }
    uint32_t number = atomic_load_explicit(slot_of(stat.st_ino), memory_order_relaxed);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    bool known = record != NULL && is_on_device(cache, record, stat.st_dev) &&
                 atomic_load(&record->entry_ino) == stat.st_ino;
    return known ? number : record_by_name(cache, fd);
}

bool stk_entryfd_identify_path(int dirfd, const char *path, const struct stat *stat,
                               struct stk_identity *out)
{
    if (stk_entryfd_cache_with_device(stat) == NULL) {
        return false;
    }
    int fd = stk_sys_openat(dirfd, path, O_PATH | O_CLOEXEC, 0);
    bool known = stk_entryfd_identify(
        fd, stat, out); /* without a descriptor: as far as this process remembers */
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    return known;
}

static bool identify_name(struct stk_cache *cache, const char *entry, struct stk_identity *out)
{
    struct known known;
    bool is_known = look_up(cache, entry, &known) && known.record != NULL;
    if (is_known) {
        *out = known.identity;
    }
    return is_known;
}

bool stk_entryfd_identify_name(struct stk_cache *cache, const char *entry, struct stk_identity *out)
{
    char name[STK_PATH_BYTES];
    size_t mark = stk_entryfd_mark_bytes(entry);
    if (identify_name(cache, entry, out)) {
        return true;
    }
    if (mark == 0 || !stk_text_copy(name, sizeof name, entry)) {
        return false;
    }
    name[strlen(name) - mark] = '\0';
    return identify_name(cache, name, out);
}
