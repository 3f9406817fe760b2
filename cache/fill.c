/*
 * Filling: one process copies the origin aside, checks that it got exactly the version it asked
 * for, and renames it into place; the others wait. See cache/cache.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/cache.h"
#include "cache/claim.h"
#include "cache/entry.h"
#include "cache/origin.h"
#include "cache/pressure.h"
#include "cache/proof.h"
#include "cache/remember.h"
#include "cache/trust.h"

#define ATTEMPTS      8
#define CHUNK_BYTES   STK_PROOF_CHUNK_BYTES
#define PIECE_BYTES   (128 << 10) /* the kernel fetches at once, unless told otherwise */
#define LIMIT_BYTES   4096        /* what a file system gives at once is a multiple of it */
#define FULL_PAUSE_NS (5 * STK_NS_PER_S)
#define SQLITE_MAGIC  "SQLite format 3" /* with its terminating zero: the first 16 bytes */

/* What one fill works on. */
struct fill {
    struct stk_cache *cache;
    const struct stk_place *place;
    struct stk_record *record;
    const struct stk_identity *identity;
    struct stk_origin origin;
    int64_t opened_ns; /* a time before it was opened */
    const char *entry;
    bool unread;        /* by anybody, before the fill */
    int64_t blocks;     /* reserved */
    uint64_t check;     /* of what is copied: cache/proof.h */
    uint64_t entry_ino; /* of the entry made or found */
};

/* ---- copying ---- */

/* A piece that is smaller than what was asked for and ends where the file shall end is the last
 * one. An even piece may be all that the file system gives at once. */
static bool is_last(const struct fill *fill, off_t end)
{
    return (uint64_t)end == fill->record->size && end % LIMIT_BYTES != 0;
}

/* A whole chunk, whatever the origin gives at a time; less only where it ends. */
static ssize_t read_chunk(const struct fill *fill, char *buffer, off_t offset)
{
    size_t bytes = 0;
    while (bytes < CHUNK_BYTES) {
        off_t at = offset + (off_t)bytes;
        ssize_t got = stk_origin_read(&fill->origin, buffer + bytes, CHUNK_BYTES - bytes, at);
        if (got < 0) {
            return got;
        }
        bytes += (size_t)got;
        if (got == 0 || (bytes < CHUNK_BYTES && is_last(fill, at + got))) {
            break;
        }
    }
    return (ssize_t)bytes;
}

static int write_whole(int fd, const char *buffer, size_t bytes, off_t offset)
{
    while (bytes > 0) {
        ssize_t put = stk_sys_pwrite(fd, buffer, bytes, offset);
        if (put <= 0) {
            return put == 0 ? -ENOSPC : (int)put;
        }
        buffer += put;
        offset += put;
        bytes -= (size_t)put;
    }
    return 0;
}

static enum stk_bypass check_head(const char *buffer, ssize_t bytes)
{
    bool database = bytes >= (ssize_t)sizeof SQLITE_MAGIC &&
                    memcmp(buffer, SQLITE_MAGIC, sizeof SQLITE_MAGIC) == 0;
    return database ? STK_BYPASS_DATABASE : STK_BYPASS_NONE;
}

static enum stk_bypass write_chunk(struct fill *fill, const struct stk_entry_draft *draft,
                                   const char *buffer, size_t bytes, off_t offset)
{
    if (!stk_entry_holds(draft) || write_whole(draft->fd, buffer, bytes, offset) != 0) {
        return STK_BYPASS_TIER;
    }
    if (fill->cache->tier.shared->memory == 0) {
        fill->check = stk_proof_add(fill->check, buffer, bytes);
    }
    return stk_claim_advance(&fill->record->claim)
               ? STK_BYPASS_NONE
               : STK_BYPASS_STUCK; /* somebody thought us dead, and fills it now */
}

/* Copies until the end of the origin, which must be exactly where its identity says. */
static enum stk_bypass copy_chunks(struct fill *fill, const struct stk_entry_draft *draft,
                                   char *buffer)
{
    const uint64_t size = fill->record->size;
    for (off_t offset = 0;;) {
        ssize_t got = read_chunk(fill, buffer, offset);
        if (got < 0 || (uint64_t)offset + (uint64_t)got > size) {
            return STK_BYPASS_CHANGED;
        }
        enum stk_bypass why = offset == 0 ? check_head(buffer, got) : STK_BYPASS_NONE;
        if (why == STK_BYPASS_NONE && got > 0) {
            why = write_chunk(fill, draft, buffer, (size_t)got, offset);
        }
        if (why != STK_BYPASS_NONE) {
            return why;
        }
        offset += got;
        if (got < CHUNK_BYTES) {
            return (uint64_t)offset == size ? STK_BYPASS_NONE : STK_BYPASS_CHANGED;
        }
    }
}

/* One buffer stays with the process, since mapping one for each file costs a quarter of a fill.
 * Whoever finds it taken (another thread, or a fork in the middle) maps its own. */
static _Atomic(char *) spare_buffer;

static char *take_buffer(void)
{
    char *spare = atomic_exchange(&spare_buffer, NULL);
    return spare != NULL ? spare
                         : stk_sys_mmap(CHUNK_BYTES, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void put_buffer(char *buffer)
{
    char *none = NULL;
    if (!atomic_compare_exchange_strong(&spare_buffer, &none, buffer)) {
        stk_sys_munmap(buffer, CHUNK_BYTES);
    }
}

static enum stk_bypass copy(struct fill *fill, const struct stk_entry_draft *draft)
{
    char *buffer = take_buffer();
    if (buffer == NULL) {
        return STK_BYPASS_TIER;
    }
    bool large = fill->record->size > PIECE_BYTES;
    stk_origin_settle(&fill->origin, fill->identity);
    if (large) {
        stk_origin_read_through(&fill->origin, true);
    }
    enum stk_bypass why = copy_chunks(fill, draft, buffer);
    if (large) {
        stk_origin_read_through(&fill->origin, false); /* the program may keep it */
    }
    put_buffer(buffer);
    return why;
}

/* ---- the budget ---- */

static enum stk_bypass take(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes)
{
    static const enum stk_bypass meanings[] = {
        [STK_TOOK] = STK_BYPASS_NONE,
        [STK_TOOK_NO_ROOM] = STK_BYPASS_BUDGET,
        [STK_TOOK_NOT_NOW] = STK_BYPASS_TIER,
    };
    return meanings[stk_tier_take(tier, blocks, inodes)];
}

static enum stk_bypass reserve(struct fill *fill)
{
    const struct stk_tier *tier = &fill->cache->tier;
    struct stk_budget *budget = &tier->shared->budget;
    uint64_t full_ns = (uint64_t)atomic_load(&budget->full_ns); /* a time to come is none */
    if (full_ns != 0 && (uint64_t)stk_clock_boottime_ns() - full_ns < FULL_PAUSE_NS) {
        return STK_BYPASS_TIER;
    }
    if (!stk_pressure_admits(tier, (int64_t)fill->record->size)) {
        return STK_BYPASS_MEMORY;
    }
    fill->blocks = stk_budget_blocks_of(fill->record->size, tier->shared->block_bytes);
    return take(tier->shared, fill->blocks, 1);
}

/* File systems may take more blocks than the size says (huge pages, preallocation). */
static enum stk_bypass reserve_excess(struct fill *fill, const struct stk_entry_draft *draft)
{
    struct stat stat;
    if (stk_sys_fstat(draft->fd, &stat) != 0 || stat.st_ino != draft->ino ||
        (uint64_t)stat.st_size != fill->record->size) {
        return STK_BYPASS_TIER;
    }
    int64_t excess = stat.st_blocks - fill->blocks;
    if (excess > 0) {
        enum stk_bypass why = take(fill->cache->tier.shared, excess, 0);
        if (why != STK_BYPASS_NONE) {
            return why;
        }
        fill->blocks += excess;
    }
    fill->entry_ino = stat.st_ino;
    return STK_BYPASS_NONE;
}

static void note_tier_error(struct stk_cache *cache, int error)
{
    if (error == -ENOSPC || error == -EDQUOT) {
        atomic_store(&cache->tier.shared->budget.full_ns, stk_clock_boottime_ns());
    }
}

/* ---- one fill ---- */

static bool validate(const struct fill *fill)
{
    return stk_trust_validate_fd(fill->cache, fill->record, fill->origin.fd, fill->opened_ns);
}

static enum stk_bypass complete_draft(struct fill *fill, const struct stk_entry_draft *draft)
{
    enum stk_bypass why = copy(fill, draft);
    if (why == STK_BYPASS_TIER && stk_entry_holds(draft)) {
        note_tier_error(fill->cache, -ENOSPC);
    }
    bool disk = fill->cache->tier.shared->memory == 0;
    if (why == STK_BYPASS_NONE && disk && stk_proof_leave(draft->path, fill->check) != 0) {
        why = STK_BYPASS_TIER;
    }
    if (why == STK_BYPASS_NONE) {
        why = reserve_excess(fill, draft);
        stk_pressure_sign(&fill->cache->tier, draft->path);
    }
    if (why == STK_BYPASS_NONE && !validate(fill)) {
        why = STK_BYPASS_CHANGED;
    }
    return why;
}

static enum stk_bypass write_entry(struct fill *fill)
{
    struct stk_entry_draft draft;
    const struct stk_tier *tier = &fill->cache->tier;
    int error = stk_entry_begin(&draft, tier->home, fill->record->size);
    if (error != 0) {
        note_tier_error(fill->cache, error);
        return STK_BYPASS_TIER;
    }
    enum stk_bypass why = complete_draft(fill, &draft);
    if (why != STK_BYPASS_NONE) {
        stk_entry_discard(&draft);
        return why;
    }
    error = stk_entry_publish(&draft, tier, fill->place->root, fill->entry);
    stk_entry_close(&draft);
    note_tier_error(fill->cache, error);
    if (error == -EDQUOT) {
        return STK_BYPASS_BUDGET;
    }
    return error == 0 ? STK_BYPASS_NONE : STK_BYPASS_TIER;
}

static enum stk_bypass reserve_and_write(struct fill *fill)
{
    enum stk_bypass why = reserve(fill);
    if (why != STK_BYPASS_NONE) {
        return why;
    }
    fill->unread = stk_origin_is_unread(&fill->origin, fill->record->size);
    why = write_entry(fill);
    if (why != STK_BYPASS_NONE) {
        stk_tier_release(fill->cache->tier.shared, fill->blocks, 1);
    }
    return why;
}

/* ---- entries that are there already ---- */

/* The check sum of what a descriptor reads. It may be another file's number by now, whose bytes
 * have another one. */
static bool check_bytes(const struct fill *fill, int fd, uint64_t *check)
{
    char *buffer = take_buffer();
    ssize_t got = buffer != NULL ? (ssize_t)CHUNK_BYTES : -ENOMEM;
    *check = 0;
    for (off_t offset = 0; got == CHUNK_BYTES; offset += got) {
        got = stk_sys_pread(fd, buffer, CHUNK_BYTES, offset);
        if (got > 0) {
            *check = stk_proof_add(*check, buffer, (size_t)got);
        }
        if (!stk_claim_advance(&fill->record->claim)) {
            got = -EBUSY;
        }
    }
    if (buffer != NULL) {
        put_buffer(buffer);
    }
    return got >= 0;
}

/* Whether an entry on a disk has the bytes that it was given. */
static bool is_proven(const struct fill *fill, int fd, const struct stat *stat)
{
    uint64_t given, found;
    if (stk_proof_is_of_this_boot(stat)) {
        return true;
    }
    if (!stk_proof_get(fill->entry, &given) || !check_bytes(fill, fd, &found) || given != found) {
        return false;
    }
    stk_proof_renew(fill->entry, stat);
    return true;
}

/* An entry's length says nothing of its bytes, if it was in the tier before the machine started. */
static bool is_whole(const struct fill *fill, int fd, struct stat *stat)
{
    return stk_sys_fstat(fd, stat) == 0 && S_ISREG(stat->st_mode) &&
           (uint64_t)stat->st_size == fill->record->size && stat->st_uid == stk_sys_geteuid() &&
           (fill->cache->tier.shared->memory != 0 || is_proven(fill, fd, stat));
}

/* It was counted when the tier was set up, or reserved by a filler that was killed since. */
static void remove_found(const struct fill *fill, const struct stat *stat)
{
    if (stk_sys_unlinkat(AT_FDCWD, fill->entry, 0) == 0) {
        stk_tier_free(fill->cache->tier.shared, stat->st_blocks, 1);
    }
}

/* Published by a filler that was killed before it could say so, or before the catalogue was lost.
 */
static bool adopt(struct fill *fill)
{
    struct stat stat = {.st_blocks = 0};
    int fd = stk_sys_open_nolinks(fill->entry, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool whole = is_whole(fill, fd, &stat);
    stk_sys_close(fd);
    if (!whole) {
        remove_found(fill, &stat);
        return false;
    }
    if (!validate(fill)) {
        return false;
    }
    fill->entry_ino = stat.st_ino;
    return true;
}

/* Ends the claim with what became of it. */
static void finish(const struct fill *fill, enum stk_bypass why)
{
    const struct stk_tier *tier = &fill->cache->tier;
    _Atomic uint64_t *claim = &fill->record->claim;
    if (why == STK_BYPASS_NONE) {
        atomic_store(&fill->record->entry_ino, fill->entry_ino);
        stk_claim_finish(claim, STK_PRESENT, tier->index, 0);
    } else if (why == STK_BYPASS_MEMORY) {
        stk_claim_finish(claim, STK_REFUSED, tier->index, stk_pressure_refusal(tier));
    } else if (why == STK_BYPASS_BUDGET) {
        stk_claim_finish(claim, STK_REFUSED, tier->index,
                         atomic_load(&tier->shared->budget.generation));
    } else if (why == STK_BYPASS_SPARSE) {
        stk_claim_finish(claim, STK_REFUSED, tier->index,
                         stk_claim_sparse_in(fill->cache->run_start_ns));
    } else {
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    }
}

/* Runs a claimed fill to its end. */
static void run_fill(struct fill *fill, struct stk_outcome *outcome)
{
    outcome->why = STK_BYPASS_NONE;
    outcome->kind = STK_COUNT_HITS;
    if (stk_origin_has_holes(&fill->origin, fill->identity)) {
        outcome->why = STK_BYPASS_SPARSE;
        outcome->kind = STK_COUNT_OPENS;
    } else if (!adopt(fill)) {
        outcome->why = reserve_and_write(fill);
        outcome->kind = outcome->why == STK_BYPASS_NONE ? STK_COUNT_FILLS : STK_COUNT_OPENS;
    }
    if (outcome->why == STK_BYPASS_TIER && adopt(fill)) {
        /* A filler that had been thought dead has published it in the meantime. */
        outcome->why = STK_BYPASS_NONE;
        outcome->kind = STK_COUNT_HITS;
    }
    finish(fill, outcome->why);
    if (outcome->kind == STK_COUNT_FILLS && fill->unread) {
        /* Its pages are in the tier now: memory is not to be spent twice. Those that others had
         * read before are theirs. */
        stk_origin_forget(&fill->origin);
    }
}

/* ---- before the fill ---- */

static bool has_database_name(const char *leaf)
{
    static const char *const ends[] = {".sqlite", ".sqlite3", ".db-wal", ".db-shm", ".db-journal"};
    size_t length = strlen(leaf);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(leaf + length - end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Why this version is not to be cached, whoever asks. */
static enum stk_bypass reason_against(struct stk_cache *cache, const struct stk_place *place,
                                      const struct stk_identity *identity)
{
    const char *leaf = stk_path_leaf(place->below);
    if (place->root->in_memory) {
        return STK_BYPASS_ORIGIN;
    }
    if (identity->size == 0) {
        return STK_BYPASS_EMPTY;
    }
    if (identity->size > (uint64_t)cache->options.max_file_bytes) {
        return STK_BYPASS_LARGE;
    }
    if (strlen(leaf) > STK_ENTRY_LEAF_LIMIT) {
        return STK_BYPASS_NAME;
    }
    if (has_database_name(leaf)) {
        return STK_BYPASS_DATABASE;
    }
    if (stk_trust_is_written(cache, place) ||
        stk_trust_is_inode_written(cache, identity->dev, identity->ino)) {
        return STK_BYPASS_WRITTEN;
    }
    if (stk_trust_is_young(cache, identity)) {
        return STK_BYPASS_YOUNG;
    }
    return cache->tier.shared == NULL ? STK_BYPASS_TIER : STK_BYPASS_NONE;
}

static bool look_at_origin(int fd, struct stk_identity *out)
{
    struct statx answer;
    return stk_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &answer) == 0 &&
           S_ISREG(answer.stx_mode) && stk_identity_from_statx(out, &answer);
}

/* Whether a record that is present may be used for this open. */
static bool is_usable(struct fill *fill)
{
    return stk_trust_of(fill->cache, fill->place->root, fill->record) == STK_TRUST_YES ||
           validate(fill);
}

/*
 * Gets this process the claim on the record, or the right to use what another has filled: FILLS for
 * the one, HITS for the other, OPENS (with a reason) for neither.
 */
static enum stk_count acquire(struct fill *fill, enum stk_bypass *why)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stk_claim claim = stk_claim_load(&fill->record->claim);
        if (claim.state == STK_PRESENT) {
            *why = STK_BYPASS_CHANGED;
            return is_usable(fill) ? STK_COUNT_HITS : STK_COUNT_OPENS;
        }
        if (claim.state == STK_FILLING) {
            stk_claim_wait(&fill->record->claim);
        } else if (stk_claim_take(&fill->record->claim, claim)) {
            return STK_COUNT_FILLS;
        }
    }
    *why = STK_BYPASS_STUCK;
    return STK_COUNT_OPENS;
}

/* The entry's path in the tier that the record names, which may be another run's. */
static bool name_entry(const struct fill *fill, char entry[STK_PATH_BYTES])
{
    struct stk_tier tier;
    unsigned index = stk_claim_load(&fill->record->claim).tier;
    return stk_tier_by_index(&fill->cache->catalogue, index, &tier) &&
           stk_entry_path(entry, tier.home, fill->place->root, fill->place->below,
                          stk_record_name(fill->record));
}

static bool fill_record(struct fill *fill, char entry[STK_PATH_BYTES], struct stk_outcome *outcome)
{
    struct stk_cache *cache = fill->cache;
    if (!stk_catalogue_is_current(&cache->catalogue)) {
        outcome->why = STK_BYPASS_CATALOGUE;
        return false;
    }
    outcome->kind = acquire(fill, &outcome->why);
    if (outcome->kind == STK_COUNT_FILLS) {
        run_fill(fill, outcome);
    } else if (outcome->kind == STK_COUNT_HITS && !name_entry(fill, entry)) {
        outcome->kind = STK_COUNT_OPENS;
        outcome->why = STK_BYPASS_TIER;
    }
    return outcome->kind != STK_COUNT_OPENS;
}

bool stk_cache_fill(struct stk_cache *cache, const struct stk_place *place, int origin_fd,
                    int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome)
{
    struct stk_identity identity;
    *outcome = (struct stk_outcome){.kind = STK_COUNT_OPENS, .why = STK_BYPASS_NONE};
    if (!look_at_origin(origin_fd, &identity)) {
        return false;
    }
    outcome->size = identity.size;
    outcome->why = STK_BYPASS_CATALOGUE;
    if (cache->catalogue.header == NULL) {
        return false;
    }
    if (!stk_root_is_there(place->root)) {
        outcome->why = STK_BYPASS_CHANGED; /* it is another directory's file */
        return false;
    }
    if (stk_trust_is_young(cache, &identity)) {
        stk_trust_forget(cache, place, &identity);
        outcome->why = reason_against(cache, place, &identity);
        return false;
    }
    outcome->record = stk_remember(cache, place, &identity);
    struct fill fill = {.cache = cache,
                        .place = place,
                        .identity = &identity,
                        .origin = {.fd = origin_fd, .dev = identity.dev, .ino = identity.ino},
                        .opened_ns = opened_ns,
                        .entry = entry};
    fill.record = stk_catalogue_record(&cache->catalogue, outcome->record);
    if (fill.record == NULL) {
        return false;
    }
    outcome->why = reason_against(cache, place, &identity);
    if (outcome->why != STK_BYPASS_NONE) {
        return false;
    }
    if (!stk_entry_path(entry, cache->tier.home, place->root, place->below,
                        stk_record_name(fill.record))) {
        outcome->why = STK_BYPASS_NAME;
        return false;
    }
    return fill_record(&fill, entry, outcome);
}
