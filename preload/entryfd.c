/* Descriptors of entries. See preload/entryfd.h. */
#include "preload/entryfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/claim.h"
#include "cache/entry.h"
#include "cache/trust.h"
#include "preload/cover.h"
#include "preload/guard.h"
#include "preload/process.h"

#define TABLE_SLOTS 4096
#define DELETED     " (deleted)" /* how the kernel marks the path of an unlinked file */

/* Records by the inode numbers of their entries; a slot is overwritten by the next that hashes to
 * it. What it says is checked against the record, so a stale slot does no harm. */
static _Atomic uint32_t table[TABLE_SLOTS];

static _Atomic uint32_t *slot_of(uint64_t entry_ino)
{
    return &table[(entry_ino * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TABLE_SLOTS];
}

/* One bit for each inode of an origin, by its lowest bits. */
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
    mode_t mode = stat->st_mode & ~(mode_t)(STK_ENTRY_MODE ^ STK_GROUP_ENTRY_MODE);
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

/* Another member's is open to the group (cache/group.h). Records tell of the inodes of one's own.
 */
static bool is_ours(const struct stat *stat)
{
    return (stat->st_mode & S_IRGRP) == 0 || stat->st_uid == stk_sys_geteuid();
}

/* The cache if the file is on one of its tiers. It is not set up for a file of somebody else's that
 * only looks like an entry, unless that is open to a group. */
static struct stk_cache *cache_with_device(const struct stat *stat)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL && (stat->st_uid == stk_sys_geteuid() || (stat->st_mode & S_IRGRP) != 0)) {
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

/* How much of the path of an open file is the kernel's mark of an unlinked one. */
static size_t mark_of(const char *path)
{
    size_t length = strlen(path), mark = sizeof DELETED - 1;
    return length > mark && strcmp(path + length - mark, DELETED) == 0 ? mark : 0;
}

/* The path of an open file, without that mark; a name that really ends so keeps its end. A file
 * that has lost its last link gets none any more, so what is read after that is certain. */
bool stk_entryfd_name(int fd, char entry[STK_PATH_BYTES])
{
    struct stat stat;
    if (!stk_cover_fd_path(fd, entry)) {
        return false;
    }
    if (mark_of(entry) == 0) {
        return true;
    }
    if (stk_sys_fstat(fd, &stat) != 0 || (stat.st_nlink == 0 && !stk_cover_fd_path(fd, entry))) {
        return false;
    }
    entry[strlen(entry) - (stat.st_nlink == 0 ? mark_of(entry) : 0)] = '\0';
    return true;
}

/* Compares what the path of an entry's origin leads to with what the entry is a copy of. Only the
 * same file has anything to say of the descriptor. */
static enum stk_likeness compare(struct stk_cache *cache, int dirfd, const char *path, int flags,
                                 const char *entry, struct stk_identity *out)
{
    struct statx answer;
    bool there = stk_sys_statx(dirfd, path, flags, STATX_BASIC_STATS | STATX_BTIME, &answer) == 0 &&
                 stk_identity_from_statx(out, &answer);
    return there ? stk_cache_compare_entry(cache, entry, out) : STK_ANOTHER_FILE;
}

/* What there is to know of an entry by its name. */
struct known {
    char origin[STK_PATH_BYTES];
    const struct stk_record *record; /* NULL: none, or a damaged one */
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
    bool asks = !is_known || !stk_trust_is_unmarked(cache, known.record);
    if (!asks || compare(cache, AT_FDCWD, known.origin, 0, entry, out) == STK_ANOTHER_FILE) {
        *out = is_known ? known.identity : *out;
        return is_known;
    }
    if (is_known) { /* its bytes are those of then, and so is how many there are */
        out->size = known.identity.size;
        out->blocks = known.identity.blocks;
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
    if (record == NULL || !is_ours(stat) || !is_on_device(cache, record, stat->st_dev)) {
        return identify_by_name(cache, fd, out);
    }
    return (stk_trust_is_unmarked(cache, record) &&
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

/* As fstat, but of the origin's descriptors no server is asked. */
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

uint32_t stk_entryfd_record(struct stk_cache *cache, int fd)
{
    struct stat stat;
    if (!look_without_asking(fd, &stat) || !stk_entryfd_may_be(&stat) ||
        !is_tier_device(cache, stat.st_dev)) {
        return 0;
    }
    uint32_t number = atomic_load_explicit(slot_of(stat.st_ino), memory_order_relaxed);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    bool known = record != NULL && is_ours(&stat) && is_on_device(cache, record, stat.st_dev) &&
                 atomic_load(&record->entry_ino) == stat.st_ino;
    return known ? number : record_by_name(cache, fd);
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

/* ---- the origin itself ---- */

static bool have_none(struct stk_entry_origin *origin)
{
    origin->fd = -1;
    return stk_text_copy(origin->name, sizeof origin->name, "/proc/self/fd/none");
}

/* On a high number: a call by its name may open a file, which has to get the lowest one. */
static int open_path(const char *path)
{
    int low = stk_sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    int high = low < 0 ? low : stk_entry_dup_high(low);
    if (high < 0) {
        return low;
    }
    stk_sys_close(low);
    return high;
}

/* Opens the origin of an entry, and looks at what was opened, not at what its path leads to. */
static bool open_origin(struct stk_cache *cache, const char *path, const char *entry,
                        enum stk_likeness least, struct stk_entry_origin *origin)
{
    struct stk_identity found;
    origin->fd = open_path(path);
    if (origin->fd < 0) {
        return !have_none(origin);
    }
    if (compare(cache, origin->fd, "", AT_EMPTY_PATH, entry, &found) < least) {
        stk_sys_close(origin->fd);
        return !have_none(origin);
    }
    stk_proc_fd_path(origin->name, origin->fd);
    return true;
}

/* The cache if `fd` looks like one of its entries. */
static struct stk_cache *cache_of(int fd)
{
    struct stat stat;
    bool may_be = stk_sys_fstat(fd, &stat) == 0 && stk_entryfd_may_be(&stat);
    return may_be ? cache_with_device(&stat) : NULL;
}

/* Where a descriptor has no name that can be read, nobody knows what it stands for. Better a call
 * that fails than an entry changed. */
bool stk_entryfd_origin(int fd, struct stk_entry_origin *origin)
{
    char entry[STK_PATH_BYTES], path[STK_PATH_BYTES];
    uint32_t record;
    struct stk_cache *cache = cache_of(fd);
    have_none(origin);
    if (cache == NULL) {
        return false;
    }
    if (!stk_entryfd_name(fd, entry)) {
        return true;
    }
    if (!stk_cache_find_entry(cache, entry, path, &record)) {
        return false;
    }
    open_origin(cache, path, entry, STK_SAME_FILE, origin);
    return true;
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
    size_t mark = mark_of(entry);
    if (identify_name(cache, entry, out)) {
        return true;
    }
    if (mark == 0 || !stk_text_copy(name, sizeof name, entry)) {
        return false;
    }
    name[strlen(name) - mark] = '\0';
    return identify_name(cache, name, out);
}

static int open_origin_of(int fd)
{
    char entry[STK_PATH_BYTES], path[STK_PATH_BYTES];
    uint32_t record;
    struct stk_entry_origin origin;
    struct stk_cache *cache = cache_of(fd);
    if (cache == NULL || !stk_entryfd_name(fd, entry) ||
        !stk_cache_find_entry(cache, entry, path, &record) ||
        !open_origin(cache, path, entry, STK_SAME_VERSION, &origin)) {
        return -ENOENT;
    }
    int opened = stk_sys_openat(AT_FDCWD, origin.name, O_RDONLY | O_CLOEXEC, 0);
    stk_sys_close(origin.fd);
    return opened;
}

int stk_entryfd_open_origin(int fd)
{
    struct stk_guard guard;
    int origin = -ENOENT;
    if (stk_process_is_on() && stk_guard_enter(&guard)) {
        origin = open_origin_of(fd);
        stk_guard_leave(&guard);
    }
    return origin;
}

/* Known before the call, since a process may be killed right after it, and after it. */
static void tell(const struct stk_entry_origin *origin, enum stk_origin_end end)
{
    struct stat stat;
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL || end == STK_ORIGIN_ASKED || stk_sys_fstat(origin->fd, &stat) != 0) {
        return;
    }
    if (end == STK_ORIGIN_WRITTEN) {
        stk_cache_mark_inode(cache, &stat);
    } else {
        stk_cache_distrust_inode(cache, &stat);
    }
}

void stk_entryfd_release(const struct stk_entry_origin *origin, enum stk_origin_end end)
{
    struct stk_guard guard;
    if (origin->fd >= 0) {
        stk_guard_join(&guard);
        tell(origin, end);
        stk_sys_close(origin->fd);
        stk_guard_leave(&guard);
    }
}

/* ---- names of descriptors ---- */

bool stk_entryfd_may_name_fd(const char *path)
{
    if (stk_path_is_missing(path)) {
        return false;
    }
    while (path[0] == '/' && path[1] == '/') {
        path++;
    }
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0;
}

/* Most paths end in no digit, which is the cheapest look. */
bool stk_entryfd_may_be_link(const char *path)
{
    if (stk_path_is_missing(path) || *path == '\0') {
        return false;
    }
    const char last = path[strlen(path) - 1];
    if (last < '0' || last > '9' || (*path == '/' && !stk_entryfd_may_name_fd(path))) {
        return false;
    }
    const char *leaf = stk_path_leaf(path);
    return leaf[strspn(leaf, "0123456789")] == '\0' && stk_process_is_on();
}

/* Looks by the spelling where a relative path leads to: to follow it a server may have to be asked.
 * `absolute` is only room. */
static bool is_below_proc(int dirfd, const char *path, char absolute[STK_PATH_BYTES])
{
    if (path[0] == '/') {
        return true;
    }
    if (!stk_cover_directory_path(dirfd, absolute)) {
        return false;
    }
    struct stk_text text = {.start = absolute, .used = strlen(absolute), .room = STK_PATH_BYTES};
    stk_text_add_char(&text, '/');
    stk_text_add(&text, path);
    return !text.cut && stk_entryfd_may_name_fd(absolute);
}

/* Reads a link of a descriptor. False: it leads to nothing that is called as an entry is, for which
 * the process need not set up its cache. */
static bool read_link(int dirfd, const char *path, char entry[STK_PATH_BYTES])
{
    if (!is_below_proc(dirfd, path, entry)) {
        return false;
    }
    ssize_t length = stk_sys_readlinkat(dirfd, path, entry, STK_PATH_BYTES - 1);
    if (length <= 0) {
        return false;
    }
    entry[length] = '\0';
    return entry[0] == '/' && strstr(entry, STK_HOME_STEM) != NULL;
}

bool stk_entryfd_is_link(int dirfd, const char *path)
{
    char entry[STK_PATH_BYTES];
    return read_link(dirfd, path, entry);
}

/* Finds the path of an entry's origin, and takes the kernel's mark off the entry's name. The file
 * may be called so itself: then the catalogue knows the whole name. */
static bool find_path(struct stk_cache *cache, char *entry, char path[STK_PATH_BYTES])
{
    uint32_t record;
    size_t mark = mark_of(entry);
    bool found = stk_cache_find_entry(cache, entry, path, &record);
    if (mark > 0 && (!found || record == 0)) {
        entry[strlen(entry) - mark] = '\0';
        found = stk_cache_find_entry(cache, entry, path, &record);
    }
    return found && path[0] == '/';
}

/* Returns true if the path leads to another file, or nowhere. */
static bool is_gone(struct stk_cache *cache, const char *path, const char *entry)
{
    struct stat stat;
    struct stk_identity found;
    int error = stk_sys_fstatat(AT_FDCWD, path, &stat, 0);
    return error == 0 ? compare(cache, AT_FDCWD, path, 0, entry, &found) == STK_ANOTHER_FILE
                      : stk_cover_no_change(error);
}

/* Writes what the kernel says of a file that has lost its last link. A link may have led to the
 * directory. */
static bool mark_path(const char *path, char out[STK_PATH_BYTES])
{
    const char *leaf = stk_path_leaf(path);
    struct stk_text text = stk_text_in(out, STK_PATH_BYTES);
    stk_text_add_bytes(&text, path, (size_t)(leaf - path));
    int fd = stk_sys_openat(AT_FDCWD, out, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        if (stk_cover_fd_path(fd, out)) {
            text.used = strlen(out);
            stk_text_add_char(&text, '/');
        }
        stk_sys_close(fd);
    }
    stk_text_add(&text, leaf);
    stk_text_add(&text, DELETED);
    return !text.cut;
}

bool stk_entryfd_origin_of_link(int dirfd, const char *path, struct stk_entry_origin *origin,
                                char name[STK_PATH_BYTES])
{
    char entry[STK_PATH_BYTES];
    struct stk_cache *cache = read_link(dirfd, path, entry) ? stk_process_cache() : NULL;
    have_none(origin);
    if (cache == NULL || !find_path(cache, entry, name)) {
        return false;
    }
    if (open_origin(cache, name, entry, STK_SAME_FILE, origin) || !is_gone(cache, name, entry)) {
        return true;
    }
    return mark_path(name, entry) && stk_text_copy(name, STK_PATH_BYTES, entry);
}

/* The same as stk_entryfd_origin, by a name of the descriptor. */
static bool origin_by_path(const char *path, struct stk_entry_origin *origin)
{
    struct stat stat;
    have_none(origin);
    if (stk_sys_fstatat(AT_FDCWD, path, &stat, 0) != 0 || !stk_entryfd_may_be(&stat) ||
        cache_with_device(&stat) == NULL) {
        return false;
    }
    int fd = stk_sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    if (fd < 0) {
        return true;
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

const char *stk_entryfd_subject(int dirfd, const char *path, int flags,
                                struct stk_entry_origin *origin)
{
    struct stk_guard guard;
    have_none(origin);
    if (!stk_process_is_on()) {
        return path;
    }
    stk_guard_join(&guard); /* an entry must not be changed, wherever we are */
    bool known = false;
    if (stk_entryfd_may_be_meant(path, flags)) {
        bool is_fd = stk_path_is_empty(path);
        known = is_fd ? stk_entryfd_origin(dirfd, origin) : origin_by_path(path, origin);
    }
    if (origin->fd >= 0) {
        tell(origin, STK_ORIGIN_CHANGED);
    }
    stk_guard_leave(&guard);
    return known ? origin->name : path;
}
