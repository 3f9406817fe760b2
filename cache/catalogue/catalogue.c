/*
 * The catalogue: its file, its segments, its index. See cache/catalogue/catalogue.h.
 * Layout of the file: header, further tables of changes, index levels, segments of records;
 * offsets are computed, not stored, and what is not allocated yet is a hole.
 */
#include "cache/catalogue/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/shared_file.h"
#include "cache/catalogue/shm_floor.h"

#define MAGIC               UINT64_C(0x38302d72656b6f74) /* changes with the layout */
#define FILE_LEAF           "/catalogue"
#define BUCKET_SLOTS        16
#define FIRST_LEVEL_BYTES   (512u << 10)
#define FIRST_CHANGES_BYTES (1u << 20)
#define HEADER_BYTES        (256u << 10)
#define SEGMENT_BYTES       (STK_SEGMENT_RECORDS * sizeof(struct stk_record))

_Static_assert(sizeof(struct stk_catalogue_header) <= HEADER_BYTES, "the header has its room");

/* A range of the file. */
struct extent {
    off_t offset;
    size_t bytes;
};

/* Level 1 is eight times the table in the header, level 2 sixteen times that. */
static struct extent changes_extent(unsigned level)
{
    struct extent at = {.offset = HEADER_BYTES, .bytes = FIRST_CHANGES_BYTES};
    for (; level > 1; level--) {
        at.offset += (off_t)at.bytes;
        at.bytes *= 16;
    }
    return at;
}

static struct extent level_extent(unsigned level)
{
    struct extent at = {.offset = changes_extent(STK_CHANGES_LEVELS + 1).offset,
                        .bytes = FIRST_LEVEL_BYTES};
    for (; level > 0; level--) {
        at.offset += (off_t)at.bytes;
        at.bytes *= 8;
    }
    return at;
}

static struct extent segment_extent(uint32_t segment)
{
    struct extent at = level_extent(STK_CATALOGUE_LEVELS);
    at.offset += (off_t)segment * (off_t)SEGMENT_BYTES;
    at.bytes = SEGMENT_BYTES;
    return at;
}

/* ---- the file ---- */

/* Opens the file if it still is the one we know; the fd, or -errno. */
static int reopen(const struct stk_catalogue *catalogue)
{
    struct stat stat;
    int fd = stk_shared_file_open(catalogue->path, &stat);
    if (fd >= 0 && (stat.st_dev != catalogue->dev || stat.st_ino != catalogue->ino)) {
        stk_sys_close(fd);
        return -ESTALE;
    }
    return fd;
}

/* Maps an extent once per process; `slot` remembers it. NULL when it cannot be mapped. */
static void *map_extent(struct stk_catalogue *catalogue, _Atomic(void *) *slot,
                        struct extent extent)
{
    void *known = atomic_load_explicit(slot, memory_order_acquire);
    if (known != NULL) {
        return known;
    }
    int fd = reopen(catalogue);
    if (fd < 0) {
        return NULL;
    }
    void *mapped = stk_shared_file_map(fd, extent.offset, extent.bytes);
    stk_sys_close(fd);
    if (mapped != NULL && !atomic_compare_exchange_strong(slot, &known, mapped)) {
        stk_sys_munmap(mapped, extent.bytes);
        return known;
    }
    return mapped;
}

/* The tier that shares a file system with the catalogue pays for it. NULL: none does. */
static struct stk_budget *payer(struct stk_catalogue *catalogue)
{
    for (int i = 0; i < STK_TIERS; i++) {
        struct stk_tier_shared *tier = &catalogue->header->tiers[i];
        if (atomic_load(&tier->setup) == STK_TIER_READY && tier->dev == catalogue->dev) {
            return &tier->budget;
        }
    }
    return NULL;
}

static int allocate_extent(const struct stk_catalogue *catalogue, struct extent extent)
{
    int fd = reopen(catalogue);
    if (fd < 0) {
        return fd;
    }
    int error = stk_sys_fallocate(fd, extent.offset, (off_t)extent.bytes);
    stk_sys_close(fd);
    return error;
}

/* The first records come before any entry: the headroom is for later ones. */
static bool pay(struct stk_budget *budget, int64_t blocks, bool first)
{
    return budget == NULL || (first ? stk_budget_reserve(budget, blocks, 0)
                                    : stk_budget_take_headroom(budget, blocks));
}

static void pay_back(struct stk_budget *budget, int64_t blocks, bool first)
{
    if (budget != NULL && first) {
        stk_budget_release(budget, blocks, 0);
    } else if (budget != NULL) {
        stk_budget_give_headroom(budget, blocks);
    }
}

/*
 * Allocates the extent that follows `count` allocated ones and counts it. Two processes may
 * allocate the same one, which does no harm; one of them counts and pays.
 */
static bool grow(struct stk_catalogue *catalogue, _Atomic uint32_t *count, uint32_t seen,
                 struct extent extent)
{
    struct stk_budget *budget = payer(catalogue);
    int64_t blocks = stk_budget_blocks_of(extent.bytes, STK_BLOCK_BYTES);
    bool first = count == &catalogue->header->segments && seen == 0;
    if (!pay(budget, blocks, first)) {
        return atomic_load(count) > seen; /* each of them has reserved for it, and one is through */
    }
    bool allocated = stk_shm_lets_grow(catalogue->path, (int64_t)extent.bytes) &&
                     allocate_extent(catalogue, extent) == 0;
    bool counted = allocated && atomic_compare_exchange_strong(count, &seen, seen + 1);
    if (!counted) {
        pay_back(budget, blocks, first);
    }
    return allocated;
}

/* ---- opening ---- */

static int initialise(int fd, const void *unused)
{
    (void)unused;
    struct extent first = level_extent(0);
    int error = stk_sys_fallocate(fd, 0, HEADER_BYTES);
    if (error == 0) {
        error = stk_sys_fallocate(fd, first.offset, (off_t)first.bytes);
    }
    if (error != 0) {
        return error;
    }
    struct stk_catalogue_header *header = stk_shared_file_map(fd, 0, HEADER_BYTES);
    if (header == NULL) {
        return -ENOMEM;
    }
    header->magic = MAGIC;
    header->bytes = sizeof *header;
    atomic_store(&header->levels, 1);
    atomic_store(&header->next_record, 1);
    stk_sys_munmap(header, HEADER_BYTES);
    return 0;
}

static int map_header(struct stk_catalogue *catalogue, int fd)
{
    struct stk_catalogue_header *header = stk_shared_file_map(fd, 0, HEADER_BYTES);
    if (header == NULL) {
        return -EPROTO;
    }
    if (header->magic != MAGIC || header->bytes != sizeof *header) {
        stk_sys_munmap(header, HEADER_BYTES);
        return -EPROTO;
    }
    catalogue->header = header;
    return 0;
}

static bool is_tmpfs(const char *path)
{
    struct statfs fs;
    return stk_sys_statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static int open_file(struct stk_catalogue *catalogue, const char *home, bool create)
{
    struct stk_text path = stk_text_in(catalogue->path, sizeof catalogue->path);
    stk_text_add(&path, home);
    stk_text_add(&path, FILE_LEAF);
    if (path.cut) {
        return -ENAMETOOLONG;
    }
    if (!is_tmpfs(home)) {
        return -EMEDIUMTYPE; /* a shared map of a disk file is a SIGBUS when the disk fails */
    }
    struct stat stat;
    int fd = stk_shared_file_open(catalogue->path, &stat);
    if (fd == -ENOENT && create) {
        int error = stk_shared_file_make(catalogue->path, initialise, NULL);
        if (error != 0 && error != -EEXIST) {
            return error;
        }
        fd = stk_shared_file_open(catalogue->path, &stat);
    }
    if (fd >= 0) {
        catalogue->dev = stat.st_dev;
        catalogue->ino = stat.st_ino;
    }
    return fd;
}

int stk_catalogue_open(struct stk_catalogue *catalogue, const char *home, bool create)
{
    int fd = open_file(catalogue, home, create);
    if (fd < 0) {
        return fd;
    }
    int error = map_header(catalogue, fd);
    stk_sys_close(fd);
    return error;
}

/* The lock lies on the open file, which its map keeps open when the descriptor is closed. */
int stk_catalogue_join(struct stk_catalogue *catalogue, const char *home, bool create)
{
    int fd = open_file(catalogue, home, create);
    if (fd < 0) {
        return fd;
    }
    int locked = stk_sys_flock(fd, LOCK_SH | LOCK_NB);
    int error = locked == -EWOULDBLOCK ? -EAGAIN : map_header(catalogue, fd);
    stk_sys_close(fd);
    if (error == 0 && !stk_catalogue_is_current(catalogue)) {
        stk_catalogue_close(catalogue);
        error = -EAGAIN;
    }
    return error;
}

int stk_catalogue_lock(const char *home)
{
    char path[STK_TIER_PATH_BYTES];
    struct stk_text text = stk_text_in(path, sizeof path);
    stk_text_add(&text, home);
    stk_text_add(&text, FILE_LEAF);
    int fd = text.cut ? -ENAMETOOLONG
                      : stk_sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd >= 0 && stk_sys_flock(fd, LOCK_EX | LOCK_NB) == -EWOULDBLOCK) {
        stk_sys_close(fd);
        return -EBUSY;
    }
    return fd;
}

int stk_catalogue_read_guest(int fd, uint32_t *out)
{
    const off_t at = offsetof(struct stk_catalogue_header, guest_of);
    uint64_t start[2]; /* magic and bytes */
    bool known = stk_sys_pread(fd, start, sizeof start, 0) == (ssize_t)sizeof start &&
                 start[0] == MAGIC && start[1] == sizeof(struct stk_catalogue_header);
    return known && stk_sys_pread(fd, out, sizeof *out, at) == (ssize_t)sizeof *out ? 0 : -EPROTO;
}

void stk_catalogue_close(struct stk_catalogue *catalogue)
{
    for (unsigned i = 0; i < STK_CATALOGUE_LEVELS; i++) {
        if (catalogue->levels[i] != NULL) {
            stk_sys_munmap(catalogue->levels[i], level_extent(i).bytes);
        }
    }
    for (unsigned i = 0; i < STK_CATALOGUE_SEGMENTS; i++) {
        if (catalogue->records[i] != NULL) {
            stk_sys_munmap(catalogue->records[i], SEGMENT_BYTES);
        }
    }
    for (unsigned i = 0; i < STK_CHANGES_LEVELS; i++) {
        if (catalogue->changes[i] != NULL) {
            stk_sys_munmap(catalogue->changes[i], changes_extent(i + 1).bytes);
        }
    }
    if (catalogue->header != NULL) {
        stk_sys_munmap(catalogue->header, HEADER_BYTES);
    }
    memset(catalogue, 0, sizeof *catalogue);
}

bool stk_catalogue_is_current(const struct stk_catalogue *catalogue)
{
    struct stat stat;
    return atomic_load(&catalogue->header->closed) == 0 &&
           stk_sys_fstatat(AT_FDCWD, catalogue->path, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           stat.st_dev == catalogue->dev && stat.st_ino == catalogue->ino;
}

/* ---- records ---- */

/* Returns true if a record may have this number. */
static bool is_number(uint32_t number)
{
    return number != 0 && (number - 1) / STK_SEGMENT_RECORDS < STK_CATALOGUE_SEGMENTS;
}

struct stk_record *stk_catalogue_record(struct stk_catalogue *catalogue, uint32_t number)
{
    uint32_t segment = (number - 1) / STK_SEGMENT_RECORDS;
    if (!is_number(number)) {
        return NULL;
    }
    struct stk_record *records =
        atomic_load_explicit(&catalogue->records[segment], memory_order_acquire);
    if (records == NULL) {
        if (segment >= atomic_load(&catalogue->header->segments)) {
            return NULL;
        }
        records = map_extent(catalogue, &catalogue->records[segment], segment_extent(segment));
    }
    return records != NULL ? records + (number - 1) % STK_SEGMENT_RECORDS : NULL;
}

/* Makes sure that the record of this number may be touched. */
static bool ensure_segment(struct stk_catalogue *catalogue, uint32_t number)
{
    uint32_t segment = (number - 1) / STK_SEGMENT_RECORDS;
    uint32_t allocated = atomic_load(&catalogue->header->segments);
    if (segment >= STK_CATALOGUE_SEGMENTS) {
        return false;
    }
    if (segment < allocated) {
        return true;
    }
    return grow(catalogue, &catalogue->header->segments, segment, segment_extent(segment));
}

uint32_t stk_catalogue_allocate(struct stk_catalogue *catalogue, struct stk_hash128 key)
{
    _Atomic uint32_t *next = &catalogue->header->next_record;
    uint32_t number = atomic_load(next);
    do {
        if (!ensure_segment(catalogue, number)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(next, &number, number + 1));
    struct stk_record *record = stk_catalogue_record(catalogue, number);
    if (record == NULL) {
        return 0; /* the number is lost, which costs 128 bytes */
    }
    record->key = key.low;
    return number;
}

/* ---- index ---- */

typedef _Atomic uint64_t slot;

static slot *bucket_at(struct stk_catalogue *catalogue, unsigned level, struct stk_hash128 key)
{
    struct extent extent = level_extent(level);
    slot *slots = atomic_load_explicit(&catalogue->levels[level], memory_order_acquire);
    if (slots == NULL) {
        if (level >= atomic_load(&catalogue->header->levels)) {
            return NULL;
        }
        slots = map_extent(catalogue, &catalogue->levels[level], extent);
        if (slots == NULL) {
            return NULL;
        }
    }
    uint64_t buckets = extent.bytes / (BUCKET_SLOTS * sizeof(slot));
    return slots + (key.high & (buckets - 1)) * BUCKET_SLOTS;
}

static uint64_t slot_value(struct stk_hash128 key, uint32_t number)
{
    return (key.high >> 32) << 32 | number;
}

static bool slot_matches(struct stk_catalogue *catalogue, uint64_t value, struct stk_hash128 key)
{
    if (value >> 32 != key.high >> 32) {
        return false;
    }
    const struct stk_record *record = stk_catalogue_record(catalogue, (uint32_t)value);
    return record != NULL && record->key == key.low;
}

/* The slot that holds this key, or NULL; its value goes to `found`. */
static slot *find_slot(struct stk_catalogue *catalogue, struct stk_hash128 key, uint64_t *found)
{
    for (unsigned level = 0; level < STK_CATALOGUE_LEVELS; level++) {
        slot *bucket = bucket_at(catalogue, level, key);
        for (unsigned i = 0; bucket != NULL && i < BUCKET_SLOTS; i++) {
            *found = atomic_load_explicit(&bucket[i], memory_order_acquire);
            if (*found == 0) {
                return NULL;
            }
            if (slot_matches(catalogue, *found, key)) {
                return &bucket[i];
            }
        }
        if (bucket == NULL) {
            return NULL;
        }
    }
    return NULL;
}

uint32_t stk_catalogue_find(struct stk_catalogue *catalogue, struct stk_hash128 key)
{
    uint64_t value;
    return find_slot(catalogue, key, &value) != NULL ? (uint32_t)value : 0;
}

static slot *bucket_to_fill(struct stk_catalogue *catalogue, unsigned level, struct stk_hash128 key)
{
    uint32_t levels = atomic_load(&catalogue->header->levels);
    if (level >= levels &&
        !grow(catalogue, &catalogue->header->levels, level, level_extent(level))) {
        return NULL;
    }
    return bucket_at(catalogue, level, key);
}

uint32_t stk_catalogue_insert(struct stk_catalogue *catalogue, struct stk_hash128 key,
                              uint32_t number)
{
    STK_INVARIANT(is_number(number));
    for (unsigned level = 0; level < STK_CATALOGUE_LEVELS; level++) {
        slot *bucket = bucket_to_fill(catalogue, level, key);
        for (unsigned i = 0; bucket != NULL && i < BUCKET_SLOTS; i++) {
            uint64_t seen = 0;
            if (atomic_compare_exchange_strong(&bucket[i], &seen, slot_value(key, number))) {
                return number;
            }
            if (slot_matches(catalogue, seen, key)) {
                return (uint32_t)seen;
            }
        }
        if (bucket == NULL) {
            return 0;
        }
    }
    return 0;
}

bool stk_catalogue_replace(struct stk_catalogue *catalogue, struct stk_hash128 key, uint32_t older,
                           uint32_t newer)
{
    uint64_t seen;
    STK_INVARIANT(is_number(newer));
    slot *at = find_slot(catalogue, key, &seen);
    return at != NULL && (uint32_t)seen == older &&
           atomic_compare_exchange_strong(at, &seen, slot_value(key, newer));
}

/* ---- changes ---- */

_Atomic uint64_t *stk_catalogue_changes(struct stk_catalogue *catalogue, unsigned level,
                                        size_t *buckets, bool create)
{
    _Atomic uint32_t *count = &catalogue->header->changes_levels;
    if (level == 0 || level > STK_CHANGES_LEVELS) {
        return NULL;
    }
    struct extent extent = changes_extent(level);
    *buckets = extent.bytes / (STK_CHANGES_SLOTS * sizeof(uint64_t));
    uint32_t there = atomic_load(count);
    bool allocated =
        there >= level || (create && there == level - 1 && grow(catalogue, count, there, extent));
    return allocated ? map_extent(catalogue, &catalogue->changes[level - 1], extent) : NULL;
}
