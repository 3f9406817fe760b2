#include "cache/big/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/home.h"
#include "cache/catalogue/shared_file.h"
#include "cache/origin/entry_name.h"

#define MAGIC       UINT64_C(0x33302d6769626b74) /* changes with the layout */
#define HEAD_BYTES  4096
#define PAGE_BYTES  4096
#define MOST_BLOCKS (UINT64_C(1) << 24) /* a table of 128 MiB */
#define FILE_MODE   0600
#define ATTEMPTS    4

_Static_assert(sizeof(struct stk_big_blocks_table) <= HEAD_BYTES, "the words begin behind it");

static uint64_t count_of(uint64_t size, uint64_t block_bytes)
{
    return (size + block_bytes - 1) / block_bytes;
}

/* Returns what the whole file takes of the budget. */
static int64_t file_blocks(const struct stk_tier *tier, uint64_t size)
{
    return stk_budget_blocks_of(size, tier->shared->block_bytes);
}

static uint64_t table_bytes_of(uint64_t count)
{
    uint64_t bytes = HEAD_BYTES + count * sizeof(uint64_t);
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* ---- names ---- */

/* "HOME/big", of the catalogue's home. */
static bool name_directory(char *out, size_t bytes, const struct stk_cache *cache)
{
    struct stk_text path = stk_text_in(out, bytes);
    const char *leaf = stk_path_leaf(cache->catalogue.file.path);
    stk_text_add_bytes(&path, cache->catalogue.file.path,
                       (size_t)(leaf - cache->catalogue.file.path));
    stk_text_add(&path, "big");
    return !path.cut;
}

static bool name_state(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                       const struct stk_record *record)
{
    char directory[sizeof blocks->state];
    struct stk_text path = stk_text_in(blocks->state, sizeof blocks->state);
    if (!name_directory(directory, sizeof directory, cache)) {
        return false;
    }
    stk_text_add(&path, directory);
    stk_text_add_char(&path, '/');
    stk_text_add_hex(&path, record->key, STK_BIG_BLOCKS_KEY_DIGITS);
    stk_text_add_hex(&path, stk_record_name(record), STK_ENTRY_DIGITS);
    stk_text_add_char(&path, '.');
    stk_text_add_number(&path, blocks->tier->index);
    return !path.cut;
}

/* As an entry's, so that it goes as entries do when memory is short; and no draft's. */
static bool name_file(struct stk_big_blocks *blocks, uint64_t version)
{
    struct stk_text path = stk_text_in(blocks->file, sizeof blocks->file);
    stk_text_add(&path, blocks->tier->home);
    stk_text_add(&path, "/fill/");
    stk_text_add_hex(&path, version, STK_ENTRY_DIGITS);
    stk_text_add_char(&path, ';');
    stk_text_add_hex(&path, blocks->stamp, 16);
    return !path.cut;
}

/* ---- what the table takes of the budget ---- */

/* It lies beside the catalogue: the tier of that file system pays, whichever has the block file.
 * NULL: none is there. */
static struct stk_tier_shared *payer(const struct stk_cache *cache)
{
    const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
    while (tier != NULL && tier->shared->pays == 0) {
        tier = stk_cache_next_tier(cache, tier);
    }
    return tier != NULL ? tier->shared : NULL;
}

static int64_t table_blocks(const struct stk_big_blocks *blocks)
{
    return (int64_t)(blocks->table_bytes / STK_BLOCK_BYTES);
}

/* A full tier has headroom for the tables of the tiers behind it. */
static bool take_table(const struct stk_big_blocks *blocks, const struct stk_cache *cache)
{
    struct stk_tier_shared *pays = payer(cache);
    int64_t taken = table_blocks(blocks);
    bool own = pays == blocks->tier->shared;
    if (pays == NULL || stk_tier_take(pays, own ? taken : 0, 1) != 0) {
        return pays == NULL;
    }
    bool took = own || stk_budget_take_headroom(&pays->budget, taken);
    if (!took) {
        stk_tier_release(pays, 0, 1);
    }
    return took;
}

static void release_table(const struct stk_big_blocks *blocks, const struct stk_cache *cache)
{
    struct stk_tier_shared *pays = payer(cache);
    bool own = pays == blocks->tier->shared;
    if (pays != NULL) {
        stk_tier_release(pays, own ? table_blocks(blocks) : 0, 1);
    }
    if (pays != NULL && !own) {
        stk_budget_give_headroom(&pays->budget, table_blocks(blocks));
    }
}

static int ensure_directory(const struct stk_cache *cache)
{
    char directory[STK_TIER_PATH_BYTES + 8];
    struct stk_tier_shared *pays = payer(cache);
    if (!name_directory(directory, sizeof directory, cache)) {
        return -ENAMETOOLONG;
    }
    if (pays != NULL && stk_tier_take(pays, 0, 1) != 0) {
        return -EDQUOT;
    }
    int error = stk_sys_make_directory(directory, 0700);
    if (error != 0 && pays != NULL) {
        stk_tier_release(pays, 0, 1);
    }
    return error == -EEXIST ? 0 : error;
}

/* ---- mapping ---- */

static bool is_table(const struct stk_big_blocks_table *table, const struct stat *stat)
{
    return table->magic == MAGIC && table->block_bytes >= STK_LEAST_BLOCK_BYTES &&
           table->block_bytes <= STK_MOST_BLOCK_BYTES &&
           table->bytes == table_bytes_of(count_of(table->size, table->block_bytes)) &&
           table->bytes == (uint64_t)stat->st_size;
}

static void take_view(struct stk_big_blocks *blocks, struct stk_big_blocks_table *table)
{
    blocks->table = table;
    blocks->words = (_Atomic uint64_t *)(void *)((char *)table + HEAD_BYTES);
    blocks->table_bytes = table->bytes;
    blocks->size = table->size;
    blocks->block_bytes = table->block_bytes;
    blocks->count = count_of(table->size, table->block_bytes);
    blocks->stamp = table->stamp;
    blocks->file_ino = table->file_ino;
}

static int map_fd(struct stk_big_blocks *blocks, int fd, const struct stat *stat)
{
    size_t bytes = (size_t)stat->st_size;
    if (bytes < HEAD_BYTES || bytes > table_bytes_of(MOST_BLOCKS)) {
        return -EPROTO;
    }
    struct stk_big_blocks_table *table = stk_shared_file_map(fd, 0, bytes);
    if (table == NULL) {
        return -ENOMEM;
    }
    if (!is_table(table, stat)) {
        stk_sys_munmap(table, bytes);
        return -EPROTO;
    }
    take_view(blocks, table);
    return 0;
}

static int map_state(struct stk_big_blocks *blocks, uint64_t version)
{
    struct stat stat;
    int fd = stk_shared_file_open(blocks->state, &stat);
    if (fd < 0) {
        return fd;
    }
    int error = map_fd(blocks, fd, &stat);
    stk_sys_close(fd);
    if (error == 0 && !name_file(blocks, version)) {
        stk_big_blocks_close(blocks);
        error = -ENAMETOOLONG;
    }
    return error;
}

static int map_known(struct stk_big_blocks *blocks, const struct stk_record *record)
{
    int error = map_state(blocks, stk_record_name(record));
    if (error == 0 && blocks->size != record->size) {
        stk_big_blocks_close(blocks);
        error = -EPROTO;
    }
    return error;
}

/* ---- which file they are of ---- */

/* Writes the first byte last: a process that sees it sees the rest. Other processes may write the
 * same text. */
void stk_big_blocks_tell_origin(const struct stk_big_blocks *blocks, const struct stk_place *place)
{
    char *origin = blocks->table->origin;
    if (origin[0] != '\0') {
        return;
    }
    struct stk_text path = stk_text_in(origin + 1, STK_BIG_BLOCKS_ORIGIN_BYTES - 1);
    stk_text_add(&path, place->root->canonical + 1);
    stk_text_add(&path, "//");
    stk_text_add(&path, place->below);
    atomic_thread_fence(memory_order_release);
    origin[0] = path.cut ? '\0' : '/';
}

const char *stk_big_blocks_below(const char *origin)
{
    const char *seam = strstr(origin, "//");
    return seam != NULL ? seam + 2 : NULL;
}

bool stk_big_blocks_parse_name(const char *name, struct stk_big_blocks_name *out)
{
    uint64_t tier = STK_TIERS;
    bool good = stk_text_take_hex(&name, STK_BIG_BLOCKS_KEY_DIGITS, &out->key) &&
                stk_text_take_hex(&name, STK_ENTRY_DIGITS, &out->version) && *name++ == '.' &&
                stk_text_take_number(&name, &tier) && *name == '\0' && tier < STK_TIERS;
    out->tier = (unsigned)tier;
    return good;
}

int stk_big_blocks_look(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                        const char *name)
{
    struct stk_big_blocks_name parts;
    char directory[sizeof blocks->state];
    struct stk_text path = stk_text_in(blocks->state, sizeof blocks->state);
    blocks->table = NULL;
    blocks->tier = &cache->tier;
    if (!stk_big_blocks_parse_name(name, &parts) || parts.tier != cache->tier.index ||
        !name_directory(directory, sizeof directory, cache)) {
        return -ENOENT;
    }
    stk_text_add(&path, directory);
    stk_text_add_char(&path, '/');
    stk_text_add(&path, name);
    return path.cut ? -ENOENT : map_state(blocks, parts.version);
}

/* ---- making ---- */

/* Writes the first page, through the kernel: only what is complete is ever mapped. */
static int write_head(int fd, const void *context)
{
    const struct stk_big_blocks *blocks = context;
    const struct stk_big_blocks_table head = {.magic = MAGIC,
                                              .bytes = blocks->table_bytes,
                                              .size = blocks->size,
                                              .block_bytes = blocks->block_bytes,
                                              .stamp = blocks->stamp,
                                              .file_ino = blocks->file_ino};
    int error = stk_sys_fallocate(fd, 0, (off_t)blocks->table_bytes);
    if (error != 0) {
        return error;
    }
    ssize_t put = stk_sys_pwrite(fd, &head, sizeof head, 0);
    return put == (ssize_t)sizeof head ? 0 : put < 0 ? (int)put : -ENOSPC;
}

static int make_file(struct stk_big_blocks *blocks, const struct stk_record *record)
{
    struct stat stat;
    blocks->stamp = (uint64_t)stk_clock_boottime_ns() ^ (uint64_t)stk_sys_getpid() << 44;
    if (!name_file(blocks, stk_record_name(record))) {
        return -ENAMETOOLONG;
    }
    int fd = stk_sys_create(blocks->file, O_RDWR | O_EXCL, FILE_MODE);
    if (fd < 0) {
        return fd;
    }
    stk_sys_close(fd);
    int error = stk_sys_fstatat(AT_FDCWD, blocks->file, &stat, AT_SYMLINK_NOFOLLOW);
    blocks->file_ino = stat.st_ino;
    return error;
}

static int make_both(struct stk_big_blocks *blocks, const struct stk_record *record)
{
    if (stk_tier_take(blocks->tier->shared, 0, 1) != 0) {
        return -EDQUOT;
    }
    int error = make_file(blocks, record);
    if (error == 0) {
        error = stk_shared_file_make(blocks->state, write_head, blocks);
        if (error != 0) {
            stk_sys_unlinkat(AT_FDCWD, blocks->file, 0);
        }
    }
    if (error != 0) {
        stk_tier_release(blocks->tier->shared, 0, 1);
    }
    return error;
}

static int make(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                const struct stk_record *record, uint64_t block_bytes)
{
    blocks->size = record->size;
    blocks->block_bytes = block_bytes;
    blocks->count = count_of(record->size, block_bytes);
    if (blocks->count > MOST_BLOCKS) {
        return -EFBIG;
    }
    blocks->table_bytes = table_bytes_of(blocks->count);
    int error = stk_home_check(blocks->tier->home);
    error = error == 0 ? ensure_directory(cache) : error;
    if (error != 0 || !take_table(blocks, cache)) {
        return error != 0 ? error : -EDQUOT;
    }
    error = make_both(blocks, record);
    if (error != 0) {
        release_table(blocks, cache);
    } else {
        atomic_fetch_add(&blocks->tier->shared->awaited_blocks,
                         file_blocks(blocks->tier, blocks->size));
    }
    return error;
}

/* ---- in which tier ---- */

static int64_t room_of(const struct stk_tier *tier)
{
    int64_t awaited = atomic_load(&tier->shared->awaited_blocks);
    return stk_budget_left(&tier->shared->budget) - (awaited > 0 ? awaited : 0);
}

static const struct stk_tier *choose_tier(const struct stk_cache *cache, uint64_t size)
{
    const struct stk_tier *best = NULL;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL;
         tier = stk_cache_next_tier(cache, tier)) {
        if (room_of(tier) >= file_blocks(tier, size)) {
            return tier;
        }
        best = best == NULL || room_of(tier) > room_of(best) ? tier : best;
    }
    return best;
}

static int map_in(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                  const struct stk_record *record, const struct stk_tier *tier)
{
    blocks->tier = tier;
    return name_state(blocks, cache, record) ? map_known(blocks, record) : -ENAMETOOLONG;
}

/* The table that is there, of whichever tier. */
static int find(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                const struct stk_record *record)
{
    int error = -ENOENT;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
         tier != NULL && error == -ENOENT; tier = stk_cache_next_tier(cache, tier)) {
        error = map_in(blocks, cache, record, tier);
    }
    return error;
}

/* One that is of no use any more gives way to another. */
static bool is_over(const struct stk_big_blocks *blocks)
{
    return atomic_load(&blocks->table->gone) != 0 || atomic_load(&blocks->table->whole) != 0;
}

/* Returns true if other files filled its tier before any of its blocks came there, and another tier
 * has room for all of it. */
static bool is_misplaced(const struct stk_big_blocks *blocks, const struct stk_cache *cache)
{
    const struct stk_tier *better = choose_tier(cache, blocks->size);
    return atomic_load(&blocks->table->paid_blocks) == 0 &&
           atomic_load(&blocks->table->refused) ==
               atomic_load(&blocks->tier->shared->budget.generation) + 1 &&
           better != blocks->tier && room_of(better) >= file_blocks(better, blocks->size);
}

static void give_up_file(struct stk_big_blocks *blocks, const struct stk_cache *cache)
{
    if (stk_sys_unlinkat(AT_FDCWD, blocks->file, 0) == 0) {
        stk_tier_free(blocks->tier->shared, atomic_load(&blocks->table->paid_blocks), 1);
    }
    stk_big_blocks_lose(blocks, cache);
}

/* Returns true if another tier has a table. A function of its own to save stack. */
static __attribute__((noinline)) bool is_elsewhere(const struct stk_cache *cache,
                                                   const struct stk_record *record,
                                                   const struct stk_tier *than)
{
    struct stk_big_blocks twin;
    bool is = false;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL && !is;
         tier = stk_cache_next_tier(cache, tier)) {
        is = tier != than && map_in(&twin, cache, record, tier) == 0;
        if (is) {
            stk_big_blocks_close(&twin);
        }
    }
    return is;
}

/* Another process may choose another tier at the same moment. Both make their own table first and
 * then look for the other's, so one of the two finds it. */
static int make_in_best(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                        const struct stk_record *record, uint64_t block_bytes)
{
    blocks->tier = choose_tier(cache, record->size);
    int error = name_state(blocks, cache, record) ? make(blocks, cache, record, block_bytes)
                                                  : -ENAMETOOLONG;
    if (error == 0 && is_elsewhere(cache, record, blocks->tier) &&
        map_in(blocks, cache, record, blocks->tier) == 0) {
        give_up_file(blocks, cache);
        stk_big_blocks_close(blocks);
    }
    return error == 0 || error == -EEXIST ? -EAGAIN : error;
}

/* Returns true if the version's entry is there or is being made. Its table goes under the record's
 * claim. So a process that finds no table looks at the claim afterwards, and makes no second one.
 */
static bool is_entry(const struct stk_record *record)
{
    enum stk_state state = stk_claim_load(&record->claim).state;
    return state == STK_PRESENT || state == STK_FILLING;
}

int stk_big_blocks_open(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                        const struct stk_record *record, uint64_t block_bytes)
{
    int error = -EAGAIN;
    blocks->table = NULL;
    for (int i = 0; i < ATTEMPTS && error == -EAGAIN; i++) {
        error = find(blocks, cache, record);
        if (error == 0 && is_misplaced(blocks, cache)) {
            give_up_file(blocks, cache);
        }
        if (error == 0 && is_over(blocks)) {
            stk_big_blocks_forget(blocks, cache);
            stk_big_blocks_close(blocks);
            error = -EAGAIN;
        } else if (error == -ENOENT) {
            error = is_entry(record) ? -EALREADY : make_in_best(blocks, cache, record, block_bytes);
        }
    }
    return error;
}

void stk_big_blocks_close(struct stk_big_blocks *blocks)
{
    if (blocks->table != NULL) {
        stk_sys_munmap(blocks->table, blocks->table_bytes);
        blocks->table = NULL;
    }
}

/* By its name, which may be another table's by now: that one is then made once more. */
void stk_big_blocks_forget(struct stk_big_blocks *blocks, const struct stk_cache *cache)
{
    if (stk_sys_unlinkat(AT_FDCWD, blocks->state, 0) == 0) {
        release_table(blocks, cache);
    }
}

void stk_big_blocks_lose(struct stk_big_blocks *blocks, const struct stk_cache *cache)
{
    struct stk_big_blocks_table *table = blocks->table;
    if (atomic_exchange(&table->gone, 1) == 0) {
        atomic_fetch_sub(&blocks->tier->shared->awaited_blocks,
                         file_blocks(blocks->tier, blocks->size) -
                             atomic_load(&table->paid_blocks));
        stk_big_blocks_forget(blocks, cache);
    }
}
