#include "cache/big/big_fill.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/changes.h"
#include "cache/entry/checksum.h"
#include "cache/entry/draft.h"
#include "cache/origin/buffer.h"
#include "cache/origin/database.h"
#include "cache/origin/reader.h"
#include "cache/tier/pressure.h"
#include "cache/version/freshness.h"

#define GROUP       STK_BIG_BLOCKS_GROUP
#define AHEAD       2           /* blocks that are asked for ahead of the one that is copied */
#define PIECE_BYTES (128 << 10) /* the kernel asks for at once */
/* A reader that gets so many blocks more than it wants has read from front to back three times. */
#define STREAM_BLOCKS 3

/* Some blocks under way. */
struct group {
    struct stk_cache *cache;
    struct stk_big *big;
    struct stk_record *record;
    struct stk_origin origin;
    struct stk_entry_draft file; /* the block file */
    uint64_t first;
    unsigned count, asked, copied;
    uint64_t published_bytes; /* the last block of a file may be short */
    uint64_t held[GROUP];     /* words */
    uint64_t checks[GROUP];   /* on a disk: cache/entry/checksum.h */
    bool unread[GROUP];       /* by anybody, before */
};

/* ---- taking ---- */

/* Returns true if there was no room and nothing was freed since. */
static bool is_refused(const struct stk_big_blocks *blocks)
{
    return atomic_load(&blocks->table->refused) ==
           atomic_load(&blocks->tier->shared->budget.generation) + 1;
}

static void note_refusal(const struct stk_big_blocks *blocks)
{
    atomic_store(&blocks->table->refused,
                 atomic_load(&blocks->tier->shared->budget.generation) + 1);
}

static int64_t blocks_of(const struct group *group, uint64_t block)
{
    return stk_budget_blocks_of(stk_big_blocks_bytes_of(&group->big->blocks, block),
                                group->big->blocks.tier->shared->block_bytes);
}

/* A block that an earlier attempt has paid for stays paid for. */
static bool pay(struct group *group, uint64_t block, uint64_t *held)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    struct stk_tier_shared *tier = blocks->tier->shared;
    int64_t wanted = blocks_of(group, block);
    if (stk_big_blocks_is_paid(*held)) {
        return true;
    }
    int took = stk_tier_take(tier, wanted, 0);
    if (took == -EDQUOT) {
        note_refusal(blocks);
    }
    if (took != 0) {
        return false;
    }
    if (!stk_big_blocks_pay(blocks, block, held)) {
        stk_tier_release(tier, wanted, 0);
        return false;
    }
    atomic_fetch_add(&blocks->table->paid_blocks, wanted);
    atomic_fetch_sub(&tier->awaited_blocks, wanted);
    return true;
}

static bool take_one(struct group *group, uint64_t block)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    uint64_t held = stk_big_blocks_take(blocks, block);
    if (held == 0) {
        return false;
    }
    if (!pay(group, block, &held)) {
        stk_big_blocks_give_up(blocks, block, held);
        return false;
    }
    group->held[group->count++] = held;
    return true;
}

static void take(struct group *group, uint64_t wanted)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    const struct stk_tier *tier = blocks->tier;
    while (group->count < wanted && group->count < GROUP &&
           group->first + group->count < blocks->count &&
           stk_pressure_admits(tier, (int64_t)blocks->block_bytes) &&
           take_one(group, group->first + group->count)) {
    }
}

/* ---- copying ---- */

static bool advance(struct group *group)
{
    bool ours = true;
    for (unsigned i = group->copied; i < group->count; i++) {
        ours =
            stk_big_blocks_advance(&group->big->blocks, group->first + i, &group->held[i]) && ours;
    }
    return ours;
}

/* A whole piece, whatever the origin gives at a time. */
static bool read_piece(const struct group *group, char *buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t had = 0;
    while (had < bytes) {
        ssize_t got =
            stk_origin_read(&group->origin, buffer + had, bytes - had, (off_t)(offset + had));
        if (got <= 0) {
            return false;
        }
        had += (uint64_t)got;
    }
    return true;
}

static bool write_piece(const struct group *group, const char *buffer, uint64_t bytes,
                        uint64_t offset)
{
    int error = stk_entry_write(&group->file, buffer, bytes, (off_t)offset);
    if (error != 0) {
        stk_budget_note_error(&group->big->blocks.tier->shared->budget, error);
    }
    return error == 0;
}

/* Finds out if the kernel keeps what is read of the file. With direct I/O it does not, and reading
 * ahead would be wasted. */
static void look_what_is_kept(const struct group *group, uint64_t bytes, uint64_t offset)
{
    if (atomic_load(&group->big->kept) == STK_BIG_UNKNOWN) {
        bool kept = stk_sys_count_cached_in(group->origin.fd, (off_t)offset, (off_t)bytes) > 0;
        atomic_store(&group->big->kept, kept ? STK_BIG_KEPT : STK_BIG_NOT_KEPT);
    }
}

/* Returns true if the command opens files such as this one, by which FUSE drops what is under way.
 */
static bool may_drop(const struct group *group)
{
    const struct stk_big_queue *queue = stk_run_big_queue(&group->cache->run);
    return group->big->root->is_fuse && queue != NULL && atomic_load(&queue->finished) != 0;
}

/* Returns true if the kernel keeps what is asked for until it is read. */
static bool is_worth_asking(const struct group *group)
{
    return atomic_load(&group->big->kept) == STK_BIG_KEPT &&
           (!may_drop(group) || atomic_load(&group->big->blocks.table->opened) != 0);
}

/* Asks for one of the blocks in pieces, which the kernel sends for all at once. */
static void ask_for(struct group *group, unsigned i)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    uint64_t at = (group->first + i) * blocks->block_bytes;
    uint64_t end = at + stk_big_blocks_bytes_of(blocks, group->first + i);
    int fd = group->origin.fd;
    group->unread[i] = !atomic_load(&group->big->streamed) &&
                       stk_sys_count_cached_in(fd, (off_t)at, (off_t)(end - at)) == 0;
    group->asked = i + 1;
    if (is_worth_asking(group)) {
        for (; at < end; at += PIECE_BYTES) {
            uint64_t bytes = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
            stk_sys_fadvise(fd, (off_t)at, (off_t)bytes, POSIX_FADV_WILLNEED);
        }
    }
}

/* Returns how many blocks are asked for ahead of the one that is copied. */
static unsigned count_ahead(const struct group *group)
{
    return may_drop(group) ? 0 : AHEAD;
}

static bool is_on_disk(const struct stk_big_blocks *blocks)
{
    return blocks->tier->shared->memory == 0;
}

static bool copy_piece(struct group *group, char *buffer, uint64_t bytes, uint64_t at)
{
    if (!read_piece(group, buffer, bytes, at)) {
        return false;
    }
    look_what_is_kept(group, bytes, at);
    if (stk_database_is_shared(buffer, bytes, at)) {
        atomic_store(&group->big->blocks.table->passed, 1);
        return false;
    }
    stk_big_queue_note_reading(stk_run_big_queue(&group->cache->run), STK_BIG_QUEUE_GOES_ON);
    if (is_on_disk(&group->big->blocks)) {
        group->checks[group->copied] += stk_checksum_of(buffer, bytes, at);
    }
    return advance(group) && write_piece(group, buffer, bytes, at);
}

static bool copy_block(struct group *group, char *buffer)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    uint64_t block = group->first + group->copied;
    uint64_t at = block * blocks->block_bytes, end = at + stk_big_blocks_bytes_of(blocks, block);
    uint64_t most = group->big->buffer != NULL ? blocks->block_bytes : STK_BUFFER_BYTES;
    bool copied = true;
    while (group->asked < group->count && group->asked <= group->copied + count_ahead(group)) {
        ask_for(group, group->asked);
    }
    while (copied && at < end) {
        uint64_t bytes = end - at < most ? end - at : most;
        copied = copy_piece(group, buffer, bytes, at);
        at += bytes;
    }
    return copied;
}

/* The kernel shall fetch what is asked for, and nothing of what follows, which may have been
 * fetched before. The number is the program's: the close of another one would end the record locks
 * that another thread takes of the file meanwhile. */
static void copy(struct group *group)
{
    char *own = group->big->buffer, *buffer = own != NULL ? own : stk_buffer_take();
    stk_origin_write_out(&group->origin);
    stk_sys_fadvise(group->origin.fd, 0, 0, POSIX_FADV_RANDOM);
    while (buffer != NULL && group->copied < group->count && copy_block(group, buffer)) {
        group->copied++;
    }
    if (!group->big->ours) {
        stk_sys_fadvise(group->origin.fd, 0, 0, POSIX_FADV_NORMAL);
    }
    if (own == NULL && buffer != NULL) {
        stk_buffer_put(buffer);
    }
}

/* ---- publishing ---- */

/* File systems may take more blocks than the sizes say. */
static bool pay_excess(const struct group *group)
{
    struct stat stat;
    struct stk_big_blocks_table *table = group->big->blocks.table;
    if (!stk_entry_stat(&group->file, &stat)) {
        return false;
    }
    int64_t excess = stat.st_blocks - atomic_load(&table->paid_blocks);
    if (excess <= 0) {
        return true;
    }
    if (stk_tier_take(group->big->blocks.tier->shared, excess, 0) != 0) {
        return false;
    }
    atomic_fetch_add(&table->paid_blocks, excess);
    return true;
}

static void forget(const struct group *group, unsigned i)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    uint64_t block = group->first + i;
    if (group->unread[i]) {
        stk_sys_fadvise(group->origin.fd, (off_t)(block * blocks->block_bytes),
                        (off_t)stk_big_blocks_bytes_of(blocks, block), POSIX_FADV_DONTNEED);
    }
}

/* Returns true if the record is the last one of its path: an old version's descriptor proves
 * nothing about a newer one. */
static bool is_last(const struct group *group)
{
    return stk_catalogue_find(&group->cache->catalogue, group->big->key) == group->big->record;
}

/* Returns true if the origin is still the version. If it is not, its blocks are no longer served
 * either. */
static bool is_still_the_version(const struct group *group)
{
    bool still = stk_freshness_validate_fd(group->cache, group->record, group->origin.fd,
                                           group->big->opened_ns);
    if (!still && is_last(group)) {
        stk_changes_note(&group->cache->catalogue, group->record->key, STK_CHANGED, NULL);
    }
    return still;
}

/* Adds the checksum before it publishes the block: otherwise another process might make the entry
 * between the two. A kill in between leaves a wrong checksum, and the entry is not believed after
 * the next start of the machine. */
static bool publish_one(const struct group *group, unsigned i)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    atomic_fetch_add(&blocks->table->check, group->checks[i]);
    bool published = stk_big_blocks_publish(blocks, group->first + i, group->held[i]);
    if (!published) {
        atomic_fetch_sub(&blocks->table->check, group->checks[i]);
    }
    return published;
}

/* How many were published: the copied ones, if they are of the version. */
static unsigned publish(struct group *group)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    unsigned published = 0;
    bool good = group->copied > 0 && pay_excess(group) && is_still_the_version(group);
    for (unsigned i = 0; i < group->count; i++) {
        if (good && i < group->copied && publish_one(group, i)) {
            forget(group, i);
            group->published_bytes += stk_big_blocks_bytes_of(blocks, group->first + i);
            published++;
        } else {
            stk_big_blocks_give_up(blocks, group->first + i, group->held[i]);
        }
    }
    return published;
}

/* ---- the block file ---- */

static bool open_file(struct group *group)
{
    const struct stk_big_blocks *blocks = &group->big->blocks;
    int low = stk_sys_openat(AT_FDCWD, blocks->file, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (low < 0) {
        return false; /* it may be whole meanwhile */
    }
    struct stat stat;
    group->file =
        (struct stk_entry_draft){.fd = low, .dev = blocks->tier->dev, .ino = blocks->file_ino};
    return stk_entry_move_up(&group->file) == 0 && stk_entry_stat(&group->file, &stat);
}

/* Returns how many blocks to fill: only the wanted ones for random reads; for a reader from front
 * to back more, and twice as many each time. */
static uint64_t widen(struct stk_cache *cache, struct stk_big *big, uint64_t block, uint64_t wanted)
{
    uint64_t block_bytes = big->blocks.block_bytes;
    uint64_t until = atomic_load_explicit(&big->read_until, memory_order_relaxed);
    uint64_t most = (uint64_t)cache->options.readahead_bytes / block_bytes;
    uint64_t ahead = atomic_load_explicit(&big->ahead_blocks, memory_order_relaxed);
    bool onward = until != 0 && until / block_bytes <= block && until / block_bytes + 1 >= block;
    ahead = onward ? 2 * ahead + 1 : 0;
    ahead = ahead < most ? ahead : most;
    atomic_store_explicit(&big->ahead_blocks, (uint32_t)ahead, memory_order_relaxed);
    return wanted + ahead;
}

static unsigned fill(struct group *group)
{
    unsigned published = 0;
    group->file.fd = -1;
    if (open_file(group)) {
        copy(group);
    }
    published = publish(group);
    if (published > 0) {
        stk_pressure_sign(group->big->blocks.tier, group->big->blocks.file);
    }
    stk_entry_close(&group->file);
    return published;
}

/* Counts the filled blocks, and enters a file that the job has begun into the queue for the
 * command. */
static void tell(const struct group *group)
{
    struct stk_run *run = &group->cache->run;
    stk_run_count(run, STK_RUN_COUNTER(blocks) + STK_BLOCK_BYTES_ORIGIN, group->published_bytes);
    if (!group->big->ours) {
        bool streamed = atomic_load(&group->big->ahead_blocks) >= STREAM_BLOCKS;
        stk_big_mark(group->cache, group->big,
                     STK_BIG_QUEUE_READ | (streamed ? (uint32_t)STK_BIG_QUEUE_STREAMED : 0));
    }
}

unsigned stk_big_fill(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                      uint64_t wanted)
{
    struct group group = {
        .cache = cache,
        .big = big,
        .record = stk_catalogue_record(&cache->catalogue, big->record),
        .origin = {.fd = fd, .dev = atomic_load(&big->dev), .ino = atomic_load(&big->ino)},
        .first = block};
    if (group.record == NULL || stk_budget_is_full(&big->blocks.tier->shared->budget) ||
        is_refused(&big->blocks)) {
        return 0;
    }
    take(&group, widen(cache, big, block, wanted));
    struct stk_big_queue *queue = stk_run_big_queue(&cache->run);
    stk_big_queue_note_reading(queue, STK_BIG_QUEUE_BEGINS);
    unsigned published = group.count > 0 ? fill(&group) : 0;
    stk_big_queue_note_reading(queue, STK_BIG_QUEUE_ENDS);
    if (published > 0) {
        tell(&group);
        stk_big_complete(cache, big);
    }
    return published;
}

/* ---- completing ---- */

/* Looks at each block: the table's note of how far a process has looked does not count. */
static bool is_whole(const struct stk_big_blocks *blocks)
{
    if (!stk_big_blocks_are_all_present(blocks)) {
        return false;
    }
    for (uint64_t block = 0; block < blocks->count; block++) {
        if (!stk_big_blocks_is_present(blocks, block)) {
            return false;
        }
    }
    return true;
}

/* Gives the block file the mode of an entry, and its checksum. */
static int dress(const struct stk_big_blocks *blocks)
{
    struct stat stat;
    int error = stk_sys_fstatat(AT_FDCWD, blocks->file, &stat, AT_SYMLINK_NOFOLLOW);
    if (error != 0) {
        return error;
    }
    if (stat.st_ino != blocks->file_ino || (uint64_t)stat.st_size != blocks->size) {
        return -EPROTO;
    }
    return is_on_disk(blocks) ? stk_checksum_store(blocks->file, atomic_load(&blocks->table->check))
                              : stk_sys_chmod(blocks->file, STK_ENTRY_MODE);
}

static int move(const struct stk_big *big)
{
    struct stk_entry_draft draft = {.fd = -1};
    stk_text_copy(draft.path, sizeof draft.path, big->blocks.file);
    int error = stk_entry_publish(&draft, big->blocks.tier, big->root, big->entry);
    if (error != 0) { /* it was discarded */
        stk_tier_free(big->blocks.tier->shared, atomic_load(&big->blocks.table->paid_blocks), 1);
    }
    return error;
}

/* Finds the entry that is there: this process's, that of a process killed before it could note it,
 * or a copy of the whole file. */
static bool find_entry(const struct stk_big *big, uint64_t *ino)
{
    struct stat stat;
    bool found = stk_sys_fstatat(AT_FDCWD, big->entry, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISREG(stat.st_mode) && (uint64_t)stat.st_size == big->blocks.size &&
                 stat.st_uid == stk_sys_geteuid() && stat.st_nlink == 1 &&
                 (!is_on_disk(&big->blocks) || stk_checksum_is_of_this_boot(&stat));
    *ino = found ? stat.st_ino : 0;
    return found;
}

/* Under the record's claim. */
static enum stk_state become_entry(struct stk_cache *cache, struct stk_big *big,
                                   struct stk_record *record)
{
    uint64_t ino;
    if (dress(&big->blocks) == 0) {
        move(big);
    }
    if (!find_entry(big, &ino)) {
        stk_big_blocks_lose(&big->blocks, cache);
        return STK_ABSENT;
    }
    atomic_store(&record->entry_ino, ino);
    if (atomic_exchange(&big->blocks.table->whole, 1) == 0) {
        stk_big_blocks_forget(&big->blocks, cache);
    }
    return STK_PRESENT;
}

/* The process that was making the entry may have been killed. */
static struct stk_claim claim_of(struct stk_record *record)
{
    struct stk_claim seen = stk_claim_load(&record->claim);
    if (seen.state == STK_FILLING && stk_claim_is_dead(seen)) {
        stk_claim_wait(&record->claim);
        seen = stk_claim_load(&record->claim);
    }
    return seen;
}

void stk_big_complete(struct stk_cache *cache, struct stk_big *big)
{
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, big->record);
    if (record == NULL || atomic_load(&big->blocks.table->whole) != 0 || !is_whole(&big->blocks)) {
        return;
    }
    struct stk_claim seen = claim_of(record);
    if ((seen.state == STK_ABSENT || seen.state == STK_REFUSED) &&
        stk_claim_take(&record->claim, seen)) {
        stk_claim_finish(&record->claim, become_entry(cache, big, record), big->blocks.tier->index,
                         0);
    }
}
