/*
 * The catalogue: its file and its index. See cache/catalogue/catalogue.h. Layout of the file:
 * header, further tables of changes, areas of nodes and records; offsets are computed, not stored,
 * and what is not allocated yet is a hole. The areas may go on beyond it (cache/catalogue/area.h).
 */
#include "cache/catalogue/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>

#include "base/invariant.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/shared_file.h"
#include "cache/catalogue/shm_floor.h"

#define MAGIC               UINT64_C(0x31312d72656b6f74) /* changes with the layout */
#define FILE_LEAF           "/catalogue"
#define FIRST_CHANGES_BYTES (1u << 20)
#define NO_ITEM             UINT32_MAX
#define HEADER_BYTES        (256u << 10)
#define ROOT_BITS           14
#define ROOT_NODES          ((1u << ROOT_BITS) * sizeof(uint32_t) / sizeof(struct stk_index_node))
#define FIRST_SEGMENTS      8   /* of nodes: the roots, and a node for each of 15,000 of them */
#define FILE_BYTES          160 /* at most, of nodes and record, where there are many files */
#define FILES_A_NODE        3   /* where there are many files */
#define CHILD_BITS          2   /* of the key, which choose a child */
#define MOST_NODES          ((64 - ROOT_BITS) / CHILD_BITS) /* from the root to a leaf */

_Static_assert(sizeof(struct stk_catalogue_header) <= HEADER_BYTES, "the header has its room");
_Static_assert(1u << CHILD_BITS == STK_NODE_CHILDREN, "each child has its bits");

/* Level 1 is eight times the table in the header, level 2 sixteen times that. */
static struct stk_extent changes_extent(unsigned level)
{
    struct stk_extent at = {.offset = HEADER_BYTES, .bytes = FIRST_CHANGES_BYTES};
    for (; level > 1; level--) {
        at.offset += (off_t)at.bytes;
        at.bytes *= 16;
    }
    return at;
}

/* ---- growth ---- */

/* The tier that shares a file system with the catalogue pays for it. NULL: none does. */
static struct stk_budget *payer(const struct stk_catalogue *catalogue)
{
    for (int i = 0; i < STK_TIERS; i++) {
        struct stk_tier_shared *tier = &catalogue->header->tiers[i];
        if (atomic_load(&tier->setup) == STK_TIER_READY && tier->dev == catalogue->file.dev) {
            return &tier->budget;
        }
    }
    return NULL;
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

/* The next segment or table: the word that counts it, and that word's value now. */
struct growth {
    _Atomic uint32_t *count;
    uint32_t seen;
    struct stk_extent extent;
    bool first;  /* of the records */
    bool beyond; /* it may lie beyond the file */
};

static bool is_in_file(uint32_t seen)
{
    return stk_area_in_file(seen) == UINT32_MAX;
}

/* Returns how many bytes the catalogue may take of the memory now. */
static int64_t memory_left(void)
{
    return stk_memory_available_bytes() - stk_memory_little(stk_memory_total_bytes());
}

/* Allocates in the file, or else takes memory beyond it. Returns the count's next value, or 0 if
 * there is no room. */
static uint32_t allocate(struct stk_catalogue *catalogue, const struct growth *growth)
{
    int64_t bytes = (int64_t)growth->extent.bytes;
    if (is_in_file(growth->seen) && stk_shm_growth(catalogue->file.path) >= bytes &&
        stk_area_allocate(&catalogue->file, growth->extent) == 0) {
        return growth->seen + 1;
    }
    uint32_t segment = stk_area_allocated(growth->seen);
    bool beyond = growth->beyond && memory_left() >= bytes &&
                  stk_area_map_beyond(&catalogue->file, &catalogue->header->areas, segment);
    uint32_t seen = is_in_file(growth->seen) ? stk_area_end_file(segment) : growth->seen;
    return beyond ? seen + 1 : 0;
}

/*
 * Makes room for the growth and counts it. Two processes may allocate the same segment, which does
 * no harm; one of them counts and pays.
 */
static bool grow(struct stk_catalogue *catalogue, struct growth growth)
{
    struct stk_budget *budget = payer(catalogue);
    int64_t blocks = stk_budget_blocks_of(growth.extent.bytes, STK_BLOCK_BYTES);
    if (!pay(budget, blocks, growth.first)) {
        /* each of them has reserved for it, and one is through */
        return stk_area_allocated(atomic_load(growth.count)) > stk_area_allocated(growth.seen);
    }
    uint32_t grown = allocate(catalogue, &growth);
    bool counted = grown != 0 && atomic_compare_exchange_strong(growth.count, &growth.seen, grown);
    if (!counted) {
        pay_back(budget, blocks, growth.first);
    }
    return grown != 0;
}

/* Returns how many bytes the file can grow by. */
static int64_t file_left(const struct stk_catalogue *catalogue)
{
    struct statfs fs;
    bool known = stk_sys_statfs(catalogue->file.path, &fs) == 0;
    int64_t left = known ? (int64_t)fs.f_bavail * fs.f_bsize : 0;
    int64_t growth = stk_least_signed(stk_shm_growth(catalogue->file.path), left);
    return growth > 0 ? growth : 0;
}

/* Returns how many files more may be known in memory beyond the file, of `segments` that exist. */
static int64_t files_beyond(const struct stk_catalogue *catalogue, uint32_t segments)
{
    uint32_t windows = stk_area_count_beyond(&catalogue->file);
    int64_t room = windows > segments ? (int64_t)(windows - segments) * STK_SEGMENT_RECORDS : 0;
    int64_t left = memory_left() / FILE_BYTES;
    return stk_least_signed(room, left > 0 ? left : 0);
}

static uint32_t segments_of(const struct stk_catalogue *catalogue, enum stk_area_name name)
{
    return stk_area_allocated(atomic_load(&catalogue->header->areas.counts[name].segments));
}

int64_t stk_catalogue_capacity(const struct stk_catalogue *catalogue, int64_t spare_blocks)
{
    const struct stk_budget *budget = payer(catalogue);
    const int64_t most = (int64_t)STK_AREA_SEGMENTS * STK_SEGMENT_RECORDS;
    uint32_t segments = segments_of(catalogue, STK_AREA_RECORDS);
    int64_t more = file_left(catalogue) / FILE_BYTES + files_beyond(catalogue, segments);
    if (budget != NULL) {
        int64_t blocks = stk_budget_headroom_left(budget) + spare_blocks;
        more = stk_least_signed(more, blocks * STK_BLOCK_BYTES / FILE_BYTES);
    }
    uint32_t first = budget != NULL && segments == 0; /* which is not of the headroom */
    return stk_least_signed((int64_t)(segments + first) * STK_SEGMENT_RECORDS + more, most);
}

static int64_t blocks_of(enum stk_area_name name, int64_t segments)
{
    int64_t bytes = (int64_t)stk_area_extent(name, 0).bytes * segments;
    return bytes > 0 ? bytes / STK_BLOCK_BYTES : 0;
}

int64_t stk_catalogue_charged(const struct stk_catalogue *catalogue)
{
    int64_t nodes = (int64_t)segments_of(catalogue, STK_AREA_NODES) - FIRST_SEGMENTS;
    return payer(catalogue) == NULL
               ? 0
               : blocks_of(STK_AREA_NODES, nodes) +
                     blocks_of(STK_AREA_RECORDS, segments_of(catalogue, STK_AREA_RECORDS));
}

/* Returns how many blocks more an area takes for so many items. */
static int64_t more_blocks(const struct stk_catalogue *catalogue, enum stk_area_name name,
                           int64_t items, int64_t in_segment)
{
    int64_t segments = (items + in_segment - 1) / in_segment;
    return blocks_of(name, segments - (int64_t)segments_of(catalogue, name));
}

int64_t stk_catalogue_growth(const struct stk_catalogue *catalogue, int64_t files)
{
    const struct stk_budget *budget = payer(catalogue);
    if (budget == NULL) {
        return 0;
    }
    int64_t records = more_blocks(catalogue, STK_AREA_RECORDS, files, STK_SEGMENT_RECORDS);
    int64_t nodes = more_blocks(catalogue, STK_AREA_NODES, files / FILES_A_NODE, STK_SEGMENT_NODES);
    bool begins = segments_of(catalogue, STK_AREA_RECORDS) == 0;
    int64_t first = begins ? stk_least_signed(records, blocks_of(STK_AREA_RECORDS, 1)) : 0;
    int64_t beside = records + nodes - first - stk_budget_headroom_left(budget);
    return first + (beside > 0 ? beside : 0);
}

void stk_catalogue_extend(struct stk_catalogue *catalogue, int64_t files, bool alone)
{
    bool fits = file_left(catalogue) / FILE_BYTES >= files;
    int64_t segments = fits ? 0 : (files + STK_SEGMENT_RECORDS - 1) / STK_SEGMENT_RECORDS;
    stk_area_hold_beyond(&catalogue->file, &catalogue->header->areas,
                         (uint32_t)stk_least_signed(segments, STK_AREA_SEGMENTS), alone);
}

/* Makes sure that the segment of this item is allocated. */
static bool ensure(struct stk_catalogue *catalogue, enum stk_area_name name, uint32_t item)
{
    _Atomic uint32_t *count = &catalogue->header->areas.counts[name].segments;
    uint32_t segment = stk_area_segment(name, item);
    uint32_t seen = atomic_load(count);
    if (segment >= STK_AREA_SEGMENTS || segment > stk_area_allocated(seen)) {
        return false;
    }
    return segment < stk_area_allocated(seen) ||
           grow(catalogue, (struct growth){.count = count,
                                           .seen = seen,
                                           .extent = stk_area_extent(name, segment),
                                           .first = name == STK_AREA_RECORDS && segment == 0,
                                           .beyond = true});
}

static void *item_at(struct stk_catalogue *catalogue, enum stk_area_name name, uint32_t item)
{
    return stk_area_item(&catalogue->file, &catalogue->header->areas, name, item);
}

/* Returns an item that no other process has, all zero, or NO_ITEM if there is no room. An item that
 * this process cannot map is left to those that can: one of another IPC namespace would use up all.
 */
static uint32_t take(struct stk_catalogue *catalogue, enum stk_area_name name)
{
    _Atomic uint32_t *next = &catalogue->header->areas.counts[name].next;
    uint32_t item = atomic_load(next);
    do {
        if (!ensure(catalogue, name, item) || item_at(catalogue, name, item) == NULL) {
            return NO_ITEM;
        }
    } while (!atomic_compare_exchange_weak(next, &item, item + 1));
    return item;
}

static void give_back(struct stk_catalogue *catalogue, enum stk_area_name name, uint32_t item)
{
    stk_area_give_back(&catalogue->file, &catalogue->header->areas, name, item);
}

/* ---- opening ---- */

static int initialise(int fd, const void *unused)
{
    (void)unused;
    int error = stk_sys_fallocate(fd, 0, HEADER_BYTES);
    for (uint32_t i = 0; i < FIRST_SEGMENTS && error == 0; i++) {
        struct stk_extent nodes = stk_area_extent(STK_AREA_NODES, i);
        error = stk_sys_fallocate(fd, nodes.offset, (off_t)nodes.bytes);
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
    atomic_store(&header->areas.counts[STK_AREA_NODES].segments, FIRST_SEGMENTS);
    atomic_store(&header->areas.counts[STK_AREA_NODES].next, ROOT_NODES);
    stk_sys_munmap(header, HEADER_BYTES);
    return 0;
}

static int map_header(struct stk_catalogue *catalogue, int fd)
{
    struct stk_catalogue_header *header = stk_shared_file_map(fd, 0, HEADER_BYTES);
    if (header == NULL) {
        struct stat stat;
        bool whole = stk_sys_fstat(fd, &stat) == 0 && stat.st_size >= (off_t)HEADER_BYTES;
        return whole ? -ENOMEM : -EPROTO; /* of this process, or a damaged file */
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
    char *path = catalogue->file.path;
    if (!stk_text_print(path, sizeof catalogue->file.path, "%s" FILE_LEAF, home)) {
        return -ENAMETOOLONG;
    }
    if (!is_tmpfs(home)) {
        return -EMEDIUMTYPE; /* a shared map of a disk file is a SIGBUS when the disk fails */
    }
    struct stat stat;
    int fd = stk_shared_file_open(path, &stat);
    if (fd == -ENOENT && create) {
        int error = stk_shared_file_make(path, initialise, NULL);
        if (error != 0 && error != -EEXIST) {
            return error;
        }
        fd = stk_shared_file_open(path, &stat);
    }
    if (fd >= 0) {
        catalogue->file.dev = stat.st_dev;
        catalogue->file.ino = stat.st_ino;
    }
    return fd;
}

int stk_catalogue_open(struct stk_catalogue *catalogue, const char *home, bool create)
{
    STK_OWNED_FD int fd = open_file(catalogue, home, create);
    return fd < 0 ? fd : map_header(catalogue, fd);
}

/* The lock lies on the open file, which its map keeps open when the descriptor is closed. */
int stk_catalogue_join(struct stk_catalogue *catalogue, const char *home, bool create)
{
    STK_OWNED_FD int fd = open_file(catalogue, home, create);
    if (fd < 0) {
        return fd;
    }
    int locked = stk_sys_flock(fd, LOCK_SH | LOCK_NB);
    int error = locked == -EWOULDBLOCK ? -EAGAIN : map_header(catalogue, fd);
    if (error == 0 && !stk_catalogue_is_current(catalogue)) {
        stk_catalogue_close(catalogue);
        error = -EAGAIN;
    }
    return error;
}

int stk_catalogue_lock(const char *home)
{
    char path[STK_TIER_PATH_BYTES];
    int fd = stk_text_print(path, sizeof path, "%s" FILE_LEAF, home)
                 ? stk_sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
                 : -ENAMETOOLONG;
    bool joined = fd >= 0 && stk_sys_flock(fd, LOCK_EX | LOCK_NB) == -EWOULDBLOCK;
    return stk_sys_opened(fd, joined ? -EBUSY : 0);
}

int stk_catalogue_read_kept_by_run(int fd, uint32_t *out)
{
    const off_t at = offsetof(struct stk_catalogue_header, kept_by_run);
    uint64_t start[2]; /* magic and bytes */
    bool known = stk_sys_pread(fd, start, sizeof start, 0) == (ssize_t)sizeof start &&
                 start[0] == MAGIC && start[1] == sizeof(struct stk_catalogue_header);
    return known && stk_sys_pread(fd, out, sizeof *out, at) == (ssize_t)sizeof *out ? 0 : -EPROTO;
}

void stk_catalogue_close(struct stk_catalogue *catalogue)
{
    stk_area_unmap(&catalogue->file);
    for (unsigned i = 0; i < STK_CHANGES_LEVELS; i++) {
        stk_sys_munmap(catalogue->changes[i], changes_extent(i + 1).bytes);
    }
    stk_sys_munmap(catalogue->header, HEADER_BYTES);
    memset(catalogue, 0, sizeof *catalogue);
}

bool stk_catalogue_is_current(const struct stk_catalogue *catalogue)
{
    struct stat stat;
    return atomic_load(&catalogue->header->closed) == 0 &&
           stk_sys_fstatat(AT_FDCWD, catalogue->file.path, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           stat.st_dev == catalogue->file.dev && stat.st_ino == catalogue->file.ino;
}

/* ---- records ---- */

/* Returns true if the number is within the bounds of all numbers of records, 0 being none. */
__attribute__((unused)) static bool is_number(uint32_t number)
{
    return number - 1 < STK_AREA_SEGMENTS * STK_SEGMENT_RECORDS;
}

struct stk_record *stk_catalogue_record(struct stk_catalogue *catalogue, uint32_t number)
{
    return number != 0 ? item_at(catalogue, STK_AREA_RECORDS, number - 1) : NULL;
}

uint32_t stk_catalogue_allocate(struct stk_catalogue *catalogue, struct stk_hash128 key)
{
    uint32_t item = take(catalogue, STK_AREA_RECORDS);
    struct stk_record *record = item != NO_ITEM ? item_at(catalogue, STK_AREA_RECORDS, item) : NULL;
    if (record == NULL) {
        return 0; /* a number that was taken is lost, which costs 128 bytes */
    }
    record->key = key.low;
    return item + 1;
}

void stk_catalogue_give_back(struct stk_catalogue *catalogue, uint32_t number)
{
    STK_INVARIANT(is_number(number));
    give_back(catalogue, STK_AREA_RECORDS, number - 1);
}

/* ---- index ---- */

typedef _Atomic uint64_t slot;

/* A way from a root to the slot of a key. */
struct index_walk {
    _Atomic uint32_t *link; /* which holds the number of the next node */
    uint64_t bits;          /* of the key that choose what comes then */
    unsigned left;          /* nodes that may follow: a damaged index may go round in circles */
};

/* Begins at the key's root. The table of roots is the first nodes of the area. Returns false if it
 * cannot be mapped. */
static bool begin_walk(struct stk_catalogue *catalogue, struct stk_hash128 key,
                       struct index_walk *walk)
{
    _Atomic uint32_t *roots = item_at(catalogue, STK_AREA_NODES, 0);
    if (roots == NULL) {
        return false;
    }
    *walk = (struct index_walk){.link = &roots[key.high % (1u << ROOT_BITS)],
                                .bits = key.high >> ROOT_BITS,
                                .left = MOST_NODES};
    return true;
}

/* Makes `link` name a new node, unless another process is faster. Returns the number of the node
 * that it names, or 0 if there is no room. */
static uint32_t add_node(struct stk_catalogue *catalogue, _Atomic uint32_t *link)
{
    uint32_t known = 0, node = take(catalogue, STK_AREA_NODES);
    if (node == NO_ITEM) {
        return 0;
    }
    if (!atomic_compare_exchange_strong(link, &known, node)) {
        give_back(catalogue, STK_AREA_NODES, node);
        return known;
    }
    return node;
}

/* Returns the next node, or NULL if none is there; `create` then adds one, if there is room. */
static struct stk_index_node *next_node(struct stk_catalogue *catalogue, struct index_walk *walk,
                                        bool create)
{
    uint32_t number = atomic_load_explicit(walk->link, memory_order_acquire);
    if (number == 0 && create && walk->left > 0) {
        number = add_node(catalogue, walk->link);
    }
    if (number < ROOT_NODES || walk->left == 0) {
        return NULL;
    }
    struct stk_index_node *node = item_at(catalogue, STK_AREA_NODES, number);
    if (node != NULL) {
        walk->link = &node->children[walk->bits % STK_NODE_CHILDREN];
        walk->bits >>= CHILD_BITS;
        walk->left--;
    }
    return node;
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
    struct index_walk walk;
    struct stk_index_node *node = NULL;
    bool known = begin_walk(catalogue, key, &walk);
    while (known && (node = next_node(catalogue, &walk, false)) != NULL) {
        for (unsigned i = 0; i < STK_NODE_SLOTS; i++) {
            *found = atomic_load_explicit(&node->slots[i], memory_order_acquire);
            if (*found == 0) {
                return NULL;
            }
            if (slot_matches(catalogue, *found, key)) {
                return &node->slots[i];
            }
        }
    }
    return NULL;
}

uint32_t stk_catalogue_find(struct stk_catalogue *catalogue, struct stk_hash128 key)
{
    uint64_t value;
    return find_slot(catalogue, key, &value) != NULL ? (uint32_t)value : 0;
}

uint32_t stk_catalogue_insert(struct stk_catalogue *catalogue, struct stk_hash128 key,
                              uint32_t number)
{
    STK_INVARIANT(is_number(number));
    struct index_walk walk;
    struct stk_index_node *node = NULL;
    bool known = begin_walk(catalogue, key, &walk);
    while (known && (node = next_node(catalogue, &walk, true)) != NULL) {
        for (unsigned i = 0; i < STK_NODE_SLOTS; i++) {
            uint64_t seen = 0;
            if (atomic_compare_exchange_strong(&node->slots[i], &seen, slot_value(key, number))) {
                return number;
            }
            if (slot_matches(catalogue, seen, key)) {
                return (uint32_t)seen;
            }
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
    struct stk_extent extent = changes_extent(level);
    *buckets = extent.bytes / (STK_CHANGES_SLOTS * sizeof(uint64_t));
    uint32_t there = atomic_load(count);
    bool allocated =
        there >= level ||
        (create && there == level - 1 &&
         grow(catalogue, (struct growth){.count = count, .seen = there, .extent = extent}));
    return allocated ? stk_area_map(&catalogue->file, &catalogue->changes[level - 1], extent)
                     : NULL;
}
