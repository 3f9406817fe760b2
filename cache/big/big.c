#include "cache/big/big.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "cache/big/big_fill.h"
#include "cache/origin/entry_name.h"
#include "cache/origin/reader.h"
#include "cache/tier/pressure.h"
#include "cache/version/freshness.h"

#define ATTEMPTS 8
#define PLAINLY  (O_ACCMODE | O_DIRECT | O_PATH) /* none of them: opened for reading */

/* Which file a number is, and in which version as far as this machine knows; asks no server. */
static bool look(int fd, struct statx *out)
{
    int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    return stk_sys_statx(fd, "", flags, STATX_BASIC_STATS | STATX_BTIME, out) == 0;
}

/* ---- noting ---- */

/* Reads the identity of an open file, as it was known at the open. */
static bool identify(struct stk_cache *cache, const struct stk_place *place, int fd,
                     struct stk_identity *out)
{
    return stk_identity_of_file(fd, AT_STATX_DONT_SYNC, out) &&
           stk_freshness_is_in_place(cache, place, out);
}

/* Returns true if no process writes this version, as far as that is known or can be found out. */
static bool is_trusted(struct stk_cache *cache, struct stk_record *record,
                       const struct stk_origin *origin, int64_t opened_ns)
{
    enum stk_freshness freshness = stk_freshness_of(cache, record);
    return !stk_freshness_is_inode_written(cache, origin->dev, origin->ino) &&
           (freshness == STK_FRESHNESS_FRESH ||
            (freshness == STK_FRESHNESS_REVALIDATE &&
             stk_freshness_validate_fd(cache, record, origin->fd, opened_ns)));
}

static bool fill_slot(struct stk_big *big, struct stk_cache *cache, const struct stk_place *place,
                      uint32_t number, int64_t opened_ns)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    big->record = number;
    big->key = place->key;
    big->root = place->root;
    big->opened_ns = opened_ns;
    atomic_store(&big->ticket, 0);
    big->ours = false;
    big->buffer = NULL;
    atomic_store(&big->read_until, 0);
    atomic_store(&big->ahead_blocks, 0);
    atomic_store(&big->kept, STK_BIG_UNKNOWN);
    atomic_store(&big->streamed, false);
    bool there =
        stk_big_blocks_open(&big->blocks, cache, record, (uint64_t)cache->options.block_bytes) == 0;
    if (there && !stk_entry_path(big->entry, big->blocks.tier->home, place->root, place->below,
                                 stk_record_name(record))) {
        stk_big_blocks_close(&big->blocks);
        there = false;
    }
    if (there) {
        stk_big_blocks_tell_origin(&big->blocks, place);
    }
    return there;
}

/* Enters the file into the table. Later opens find it there once the slot has its inode. */
static bool note(struct stk_cache *cache, const struct stk_place *place, uint32_t number,
                 const struct stk_origin *origin, int64_t opened_ns)
{
    struct stk_big *big = stk_big_take_slot(origin->dev, origin->ino);
    if (big == NULL) {
        return false;
    }
    bool noted = fill_slot(big, cache, place, number, opened_ns);
    stk_big_give_slot(big, origin->dev, noted ? origin->ino : 0);
    return noted;
}

/* Nothing may be known to have changed it since the last look, by any name. */
static bool is_good(struct stk_cache *cache, const struct stk_big *big)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, big->record);
    const struct stk_big_blocks_table *blocks = big->blocks.table;
    return record != NULL && atomic_load(&blocks->gone) == 0 && atomic_load(&blocks->passed) == 0 &&
           stk_freshness_of(cache, record) != STK_FRESHNESS_WRITTEN &&
           stk_freshness_is_unmarked(cache, record);
}

/* Returns true if the table has the file in this version, and the version may still be used. */
static bool is_noted(struct stk_cache *cache, uint32_t number, const struct stk_origin *origin)
{
    struct stk_big *big = stk_big_find(origin->dev, origin->ino);
    if (big == NULL) {
        return false;
    }
    bool same = big->record == number && is_good(cache, big);
    if (same) {
        stk_big_complete(cache, big); /* the process that had the last block may have been killed */
    }
    stk_big_let_go(big);
    if (!same) {
        stk_big_drop(big, origin->dev, origin->ino);
    }
    return same;
}

bool stk_big_may_be(const struct stk_cache *cache, const char *leaf)
{
    return cache->options.block_bytes != 0 && cache->tier.shared != NULL &&
           strlen(leaf) <= STK_ENTRY_LEAF_LIMIT && !stk_path_is_database(leaf);
}

/* The opened file may be another version than the one that was found in this run. Then no process
 * is served the old version any more. */
bool stk_big_note(struct stk_cache *cache, const struct stk_place *place, uint32_t number, int fd,
                  int64_t opened_ns)
{
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    struct stk_identity identity, known;
    if (!stk_big_may_be(cache, stk_path_leaf(place->below)) || record == NULL ||
        !identify(cache, place, fd, &identity) || !stk_record_get_identity(record, &known)) {
        return false;
    }
    if (!stk_identity_same_version(&identity, &known)) {
        stk_freshness_forget(cache, place, &identity);
        return false;
    }
    const struct stk_origin origin = {.fd = fd, .dev = identity.dev, .ino = identity.ino};
    return stk_claim_load(&record->claim).state != STK_PRESENT &&
           (is_noted(cache, number, &origin) || (is_trusted(cache, record, &origin, opened_ns) &&
                                                 !stk_origin_has_holes(&origin, &identity) &&
                                                 note(cache, place, number, &origin, opened_ns)));
}

bool stk_big_is_entry(struct stk_cache *cache, uint32_t number)
{
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL && stk_claim_load(&record->claim).state == STK_FILLING) {
        stk_claim_wait(&record->claim);
    }
    return record != NULL && stk_claim_load(&record->claim).state == STK_PRESENT;
}

/* ---- reading ---- */

/* The number of a file that has gone may be another's by now, which was opened by a name that we do
 * not look at. */
static bool is_version(struct stk_cache *cache, const struct stk_big *big, const struct statx *now)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, big->record);
    struct stk_identity identity;
    return record != NULL && stk_identity_from_statx(&identity, now) &&
           identity.size == record->size && identity.mtime_ns == record->mtime_ns &&
           identity.ctime_ns == record->ctime_ns;
}

struct stk_big *stk_big_hold(struct stk_cache *cache, int fd)
{
    struct statx now;
    if (atomic_load(&cache->roots.lost) || !look(fd, &now)) {
        return NULL;
    }
    struct stk_big *big = stk_big_find(makedev(now.stx_dev_major, now.stx_dev_minor), now.stx_ino);
    if (big == NULL) {
        return NULL;
    }
    int flags = stk_sys_get_status_flags(fd);
    if (flags < 0 || (flags & PLAINLY) != O_RDONLY || !is_version(cache, big, &now) ||
        !is_good(cache, big)) {
        stk_big_let_go(big);
        return NULL;
    }
    return big;
}

/* How many of a part's blocks are not there. */
static uint64_t count_missing(const struct stk_big_blocks *blocks, uint64_t first, uint64_t last)
{
    uint64_t missing = 0;
    for (uint64_t block = first; block <= last; block++) {
        missing += !stk_big_blocks_is_present(blocks, block);
    }
    return missing;
}

/* One block: there, filled by another, or by us, and then perhaps some more. */
static bool have(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                 uint64_t last, unsigned *filled)
{
    _Atomic uint64_t *word = &big->blocks.words[block];
    *filled = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (stk_big_blocks_is_present(&big->blocks, block)) {
            return true;
        }
        if (stk_claim_load(word).state == STK_FILLING) {
            stk_big_blocks_wait(&big->blocks, block);
            continue;
        }
        *filled = stk_big_fill(cache, big, fd, block, last - block + 1);
        if (*filled == 0 && stk_claim_load(word).state == STK_ABSENT) {
            return false;
        }
    }
    return false;
}

/* More than there is room for is left to the origin at once, which else had to give it twice. */
bool stk_big_ensure(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t offset,
                    uint64_t bytes)
{
    const struct stk_big_blocks *blocks = &big->blocks;
    uint64_t first = offset / blocks->block_bytes;
    uint64_t last = (offset + bytes - 1) / blocks->block_bytes;
    if (bytes == 0 || last >= blocks->count) {
        return false;
    }
    uint64_t missing = count_missing(blocks, first, last);
    int64_t left = stk_budget_left(&blocks->tier->shared->budget);
    if (missing > 1 &&
        missing * (blocks->block_bytes / STK_BLOCK_BYTES) > (uint64_t)(left > 0 ? left : 0)) {
        return false;
    }
    unsigned filled;
    for (uint64_t block = first; missing > 0 && block <= last; block++) {
        if (!have(cache, big, fd, block, last, &filled)) {
            return false;
        }
    }
    atomic_store_explicit(&big->read_until, offset + bytes, memory_order_relaxed);
    return true;
}

static bool is_block_file(const struct stk_big *big, uint64_t dev, int fd)
{
    struct stat stat;
    return stk_sys_fstat(fd, &stat) == 0 && stat.st_ino == big->blocks.file_ino &&
           stat.st_dev == dev;
}

/* The number may be another file's meanwhile, if a thread closes what is not its own: then what was
 * read is nothing, and the number not ours to close. One look finds that, behind the reading. */
static ssize_t read_by(const struct stk_big *big, uint64_t dev, int fd, const struct iovec *parts,
                       int count, uint64_t offset)
{
    ssize_t got = stk_sys_preadv(fd, parts, count, (off_t)offset);
    bool ours = is_block_file(big, dev, fd);
    if (ours) {
        stk_sys_close(fd);
    }
    return ours ? got : -EBADF;
}

/* Unless the number is another file's meanwhile. */
static void close_copy(const struct stk_big *big, int fd)
{
    struct stat copy, stat;
    if (stk_sys_fstatat(AT_FDCWD, big->entry, &copy, AT_SYMLINK_NOFOLLOW) == 0 &&
        stk_sys_fstat(fd, &stat) == 0 && stat.st_ino == copy.st_ino && stat.st_dev == copy.st_dev) {
        stk_sys_close(fd);
    }
}

/* Opens the entry that the block file has become. The entry of that name may be another file, which
 * is a copy of the whole file. */
int stk_big_open_entry(const struct stk_big *big)
{
    int fd = stk_sys_open_own(big->entry, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !is_block_file(big, big->blocks.tier->dev, fd)) {
        close_copy(big, fd);
        fd = -ENOENT;
    }
    return fd;
}

ssize_t stk_big_deliver(struct stk_cache *cache, struct stk_big *big, const struct iovec *parts,
                        int count, uint64_t offset)
{
    bool whole = atomic_load(&big->blocks.table->whole) != 0;
    int fd = whole ? -ENOENT : stk_sys_open_own(big->blocks.file, O_RDONLY | O_CLOEXEC);
    if (fd == -ENOENT) {
        fd = stk_big_open_entry(big);
    }
    if (fd == -ENOENT) {
        stk_big_blocks_lose(&big->blocks, cache);
    }
    ssize_t got = fd < 0 ? fd : read_by(big, big->blocks.tier->dev, fd, parts, count, offset);
    if (got > 0) {
        stk_run_count(&cache->run, STK_RUN_COUNTER(blocks) + STK_BLOCK_READS, 1);
        stk_run_count(&cache->run, STK_RUN_COUNTER(blocks) + STK_BLOCK_BYTES_CACHE, (uint64_t)got);
    }
    return got;
}

/* ---- all of it ---- */

/* Why this descriptor is not to be filled by, as the record's version. */
static enum stk_bypass reason_against(struct stk_cache *cache, const struct stk_place *place,
                                      struct stk_record *record, int64_t opened_ns,
                                      struct stk_origin *origin)
{
    struct stk_identity identity, known;
    if (!stk_big_may_be(cache, stk_path_leaf(place->below))) {
        return STK_BYPASS_LARGE;
    }
    if (record == NULL || !identify(cache, place, origin->fd, &identity) ||
        !stk_record_get_identity(record, &known) || !stk_identity_same_version(&identity, &known)) {
        return STK_BYPASS_CHANGED;
    }
    origin->dev = identity.dev;
    origin->ino = identity.ino;
    if (!is_trusted(cache, record, origin, opened_ns)) {
        return STK_BYPASS_CHANGED;
    }
    return stk_origin_has_holes(origin, &identity) ? STK_BYPASS_SPARSE : STK_BYPASS_NONE;
}

static bool has_room_for_block(const struct stk_cache *cache)
{
    bool has = false;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL && !has;
         tier = stk_cache_next_tier(cache, tier)) {
        has = stk_budget_left(&tier->shared->budget) >=
              (int64_t)(cache->options.block_bytes / STK_BLOCK_BYTES);
    }
    return has;
}

enum stk_bypass stk_big_open(struct stk_big *big, struct stk_cache *cache,
                             const struct stk_place *place, uint32_t number, int fd,
                             int64_t opened_ns)
{
    struct stk_origin origin = {.fd = fd};
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    enum stk_bypass why = reason_against(cache, place, record, opened_ns, &origin);
    if (why != STK_BYPASS_NONE) {
        return why;
    }
    if (!fill_slot(big, cache, place, number, opened_ns)) {
        return has_room_for_block(cache) ? STK_BYPASS_TIER : STK_BYPASS_BUDGET;
    }
    big->ours = true;
    atomic_store(&big->dev, origin.dev);
    atomic_store(&big->ino, origin.ino);
    return STK_BYPASS_NONE;
}

void stk_big_read_directly(struct stk_big *big, char *buffer)
{
    big->buffer = buffer;
    atomic_store(&big->kept, STK_BIG_NOT_KEPT);
}

void stk_big_close(struct stk_big *big)
{
    stk_big_blocks_close(&big->blocks);
}

bool stk_big_have(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                  bool *filled)
{
    unsigned count = 0;
    bool there = block < big->blocks.count && is_good(cache, big) &&
                 have(cache, big, fd, block, block, &count);
    *filled = count > 0;
    return there;
}

enum stk_bypass stk_big_reason(struct stk_cache *cache, const struct stk_big *big)
{
    const struct stk_big_blocks *blocks = &big->blocks;
    const struct stk_budget *budget = &blocks->tier->shared->budget;
    if (atomic_load(&blocks->table->passed) != 0) {
        return STK_BYPASS_DATABASE;
    }
    if (atomic_load(&blocks->table->gone) != 0) {
        return STK_BYPASS_TIER;
    }
    if (!is_good(cache, big)) {
        return STK_BYPASS_CHANGED;
    }
    uint32_t generation = atomic_load(&budget->generation);
    if (stk_budget_left(budget) < (int64_t)(blocks->block_bytes / STK_BLOCK_BYTES) ||
        atomic_load(&blocks->table->refused) == generation + 1) {
        return STK_BYPASS_BUDGET;
    }
    if (!stk_pressure_admits(blocks->tier, (int64_t)blocks->block_bytes)) {
        return STK_BYPASS_MEMORY;
    }
    return atomic_load(&budget->full_ns) != 0 ? STK_BYPASS_TIER : STK_BYPASS_CHANGED;
}

bool stk_big_await(struct stk_cache *cache, int fd)
{
    struct stk_big_queue *queue = stk_run_big_queue(&cache->run);
    struct stk_big *big = stk_big_queue_holds(queue) ? stk_big_hold(cache, fd) : NULL;
    if (big == NULL) {
        return false;
    }
    stk_big_mark(cache, big, STK_BIG_QUEUE_AWAITED);
    bool whole = stk_big_queue_wait(queue, atomic_load(&big->ticket), &big->blocks.table->whole);
    stk_big_let_go(big);
    return whole;
}

/* ---- the rest ---- */

static bool is_finished(const struct stk_big *big)
{
    return atomic_load(&big->blocks.table->whole) != 0;
}

/* The filler of the last block may be making the entry at this moment. */
static bool wait_for_entry(struct stk_cache *cache, struct stk_big *big)
{
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, big->record);
    stk_big_complete(cache, big);
    if (!is_finished(big) && record != NULL) {
        stk_claim_wait(&record->claim);
    }
    return is_finished(big);
}

bool stk_big_finish(struct stk_cache *cache, struct stk_big *big, int fd)
{
    uint64_t size = big->blocks.size;
    return is_finished(big) ||
           (size <= (uint64_t)cache->options.whole_bytes &&
            stk_big_ensure(cache, big, fd, 0, size) && wait_for_entry(cache, big));
}
