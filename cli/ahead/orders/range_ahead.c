#include "cli/ahead/orders/range_ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/sys.h"
#include "cache/big/big.h"
#include "cli/fill/open_origin.h"
#include "cli/os/thread.h"

#define FILES       64 /* in a run; ranges of more files are not read ahead */
#define PAGE_BYTES  4096
#define PIECE_BYTES (128 << 10) /* the kernel asks for at once */

/* A file that has ranges. It is opened once, as soon as a sample has read of it and no tier has
 * room for it: on FUSE, each open drops what the kernel holds of the file. */
struct range_file {
    char path[STK_PATH_BYTES];
    struct stk_place place;
    atomic_int fd; /* -1: not opened yet */
    uint32_t record;
    atomic_flag opened; /* or about to be */
    atomic_bool kept;   /* the kernel keeps what is read */
    atomic_bool failed; /* it is read ahead no more */
};

static struct {
    struct stk_cache *cache;
    pthread_mutex_t lock; /* of the files' number */
    struct range_file files[FILES];
    unsigned count;
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER};

void range_ahead_begin(struct stk_cache *cache)
{
    ahead.cache = cache;
}

/* ---- files ---- */

static bool is_of(const struct range_file *file, const char *path, size_t length)
{
    return strncmp(file->path, path, length) == 0 && file->path[length] == '\0';
}

/* Adds a file, under the lock. */
static struct range_file *add(const char *path, size_t length)
{
    struct range_file *file = &ahead.files[ahead.count];
    if (ahead.count == FILES) {
        return NULL;
    }
    memcpy(file->path, path, length);
    file->path[length] = '\0';
    file->fd = -1;
    file->failed = !stk_cache_place(ahead.cache, file->path, AT_FDCWD, file->path, &file->place);
    ahead.count++;
    return file;
}

static struct range_file *find(const char *path, size_t length)
{
    unsigned i = 0;
    while (i < ahead.count && !is_of(&ahead.files[i], path, length)) {
        i++;
    }
    return i < ahead.count ? &ahead.files[i] : NULL;
}

/* Returns true if a tier has room for all of the file. Then no range of it is read ahead. */
static bool has_room(uint64_t size)
{
    const struct stk_tier *tier = NULL;
    while ((tier = stk_cache_next_tier(ahead.cache, tier)) != NULL) {
        if (stk_budget_left(&tier->shared->budget) >= (int64_t)(size / STK_BLOCK_BYTES)) {
            return true;
        }
    }
    return false;
}

/* Opens a file that the job has opened in this run. */
static void *open_file(void *context)
{
    struct range_file *file = context;
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = stk_run_opens(&ahead.cache->run, file->record) > 0 ? origin_open(file->path) : -1;
    if (fd >= 0 && stk_big_note(ahead.cache, &file->place, file->record, fd, opened_ns)) {
        stk_sys_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* nothing beyond what is asked for */
        file->fd = fd;
    }
    return context;
}

/* Has a file opened by another thread, since storage may take long, unless a tier has room for it.
 */
static void open_beside(struct range_file *file)
{
    struct stk_catalogue *catalogue = &ahead.cache->catalogue;
    uint32_t number = file->failed ? 0 : stk_catalogue_find(catalogue, file->place.key);
    const struct stk_record *record = stk_catalogue_record(catalogue, number);
    if (number != 0 && record != NULL && !has_room(record->size) &&
        !atomic_flag_test_and_set(&file->opened)) {
        file->record = number;
        thread_start_detached(open_file, file);
    }
}

void range_ahead_expect(const char *name)
{
    struct range_name range;
    if (ahead.cache == NULL || !range_name_parse(name, &range)) {
        return;
    }
    pthread_mutex_lock(&ahead.lock);
    struct range_file *file = find(name, range.path_length);
    file = file != NULL ? file : add(name, range.path_length);
    pthread_mutex_unlock(&ahead.lock);
    if (file != NULL && file->fd < 0) {
        open_beside(file);
    }
}

/* Returns the file of a range if it is open and has not failed, or NULL. */
static struct range_file *file_of(const char *name, const struct range_name *range)
{
    pthread_mutex_lock(&ahead.lock);
    struct range_file *file = find(name, range->path_length);
    pthread_mutex_unlock(&ahead.lock);
    return file != NULL && file->fd >= 0 && !file->failed ? file : NULL;
}

/* Returns true if what is read is dropped before the job's read, which opens the file first. */
static bool is_dropped(const struct range_file *file, const struct range_name *range)
{
    return range->opened && file->place.root->is_fuse;
}

/* Returns true if the path still leads to the version that was opened. */
static bool is_current(const struct range_file *file)
{
    return stk_catalogue_find(&ahead.cache->catalogue, file->place.key) == file->record;
}

/* ---- reading ---- */

/* Has the kernel fetch a piece, and waits for its last byte. */
static bool fetch(int fd, uint64_t at, uint64_t end)
{
    char last;
    for (uint64_t next = at; next < end; next += PIECE_BYTES) {
        uint64_t bytes = stk_least(end - next, PIECE_BYTES);
        stk_sys_fadvise(fd, (off_t)next, (off_t)bytes, POSIX_FADV_WILLNEED);
    }
    for (uint64_t next = at; next < end; next += PIECE_BYTES) {
        uint64_t bytes = stk_least(end - next, PIECE_BYTES);
        if (stk_sys_pread(fd, &last, 1, (off_t)(next + bytes - 1)) != 1) {
            return false;
        }
    }
    return true;
}

static int64_t count_held(const struct range_file *file, uint64_t at, uint64_t end)
{
    return stk_sys_count_cached_in(file->fd, (off_t)at, (off_t)(end - at));
}

/* Finds out by a page that the kernel does not hold if it keeps what is read, and says so. With
 * direct I/O it keeps what it is asked to fetch, and no read gets that. */
static void look_what_is_kept(struct range_file *file, uint64_t at)
{
    char first;
    if (count_held(file, at, at + 1) <= 0) {
        file->kept =
            stk_sys_pread(file->fd, &first, 1, (off_t)at) == 1 && count_held(file, at, at + 1) > 0;
        file->failed = !file->kept;
    }
}

/* Reads what the kernel does not hold. */
static uint64_t read_absent(struct range_file *file, uint64_t at, uint64_t end)
{
    int64_t pages = (int64_t)((end - 1) / PAGE_BYTES - at / PAGE_BYTES + 1);
    if (count_held(file, at, end) == pages) {
        return 0;
    }
    if (!file->kept) {
        look_what_is_kept(file, at);
    }
    if (!file->kept) {
        return 0;
    }
    file->failed = !fetch(file->fd, at, end);
    return file->failed ? 0 : end - at;
}

/* Returns true if the job's read will go to storage: a block is absent, and there is no room for
 * it. Then all of the range is read there. */
static bool is_wanted(const struct stk_big *big, uint64_t at, uint64_t end)
{
    const struct stk_big_blocks *blocks = &big->blocks;
    bool present = true;
    for (uint64_t block = at / blocks->block_bytes; block * blocks->block_bytes < end; block++) {
        present = present && stk_big_blocks_is_present(blocks, block);
    }
    enum stk_bypass why = present ? STK_BYPASS_NONE : stk_big_reason(ahead.cache, big);
    return why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY || why == STK_BYPASS_TIER;
}

static uint64_t read_range(struct range_file *file, const struct range_name *range)
{
    uint64_t read = 0, at = range->offset, end = at + range->bytes;
    struct stk_big *big = is_current(file) ? stk_big_hold(ahead.cache, file->fd) : NULL;
    file->failed = file->failed || big == NULL;
    end = big != NULL ? stk_least(end, stk_big_size(big)) : 0;
    if (at < end && is_wanted(big, at, end)) {
        read = read_absent(file, at, end);
    }
    if (big != NULL) {
        stk_big_let_go(big);
    }
    return read;
}

uint64_t range_ahead_read(const char *name, const struct range_name *range)
{
    struct range_file *file = file_of(name, range);
    return file != NULL && !is_dropped(file, range) ? read_range(file, range) : 0;
}
