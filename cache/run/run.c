#include "cache/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/shared_file.h"

#define MAGIC          UINT64_C(0x31322d6e75726b74) /* changes with the layout */
#define COUNTERS_BYTES (544u << 10) /* with the queues, requests and transient entries */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct stripe {
    _Alignas(64) _Atomic uint64_t counters[STK_RUN_COUNTERS];
};

/* The counts of one record's file: its opens, and those of them that were decoded. */
struct opens {
    _Atomic uint8_t all, decoded;
};
_Static_assert(sizeof(struct opens) * STK_RUN_SEGMENT_FILES == STK_RUN_SEGMENT_BYTES, "its size");

/* The file: this, then a `struct opens` for each record of the catalogue, by segments. */
struct stk_run_file {
    uint64_t magic, bytes;
    int64_t start_ns;
    char title[STK_RUN_TITLE_BYTES];
    struct stk_ranks ranks;
    struct stripe stripes[STK_RUN_STRIPES + STK_RANKS]; /* the last are those of ranks, by rows */
    struct stk_revalidation_queue revalidation_queue;
    struct stk_big_queue big_queue;
    struct stk_shared_requests shared_requests;
    struct stk_transients transients;
};

_Static_assert(sizeof(struct stk_run_file) <= COUNTERS_BYTES, "the counters have their room");

bool stk_run_path(char out[STK_HOME_BYTES], const char *home, const char *name)
{
    return stk_text_print(out, STK_HOME_BYTES, "%s/runs/%s", home, name);
}

/* ---- opening ---- */

static int map_file(struct stk_run *run, int fd)
{
    struct stk_run_file *file = stk_shared_file_map(fd, 0, COUNTERS_BYTES);
    if (file == NULL) {
        return -EPROTO;
    }
    bool begun = file->start_ns > 0 && file->start_ns <= stk_clock_boottime_ns();
    if (file->magic != MAGIC || file->bytes != sizeof *file || !begun) {
        stk_sys_munmap(file, COUNTERS_BYTES);
        return -EPROTO;
    }
    run->file = file;
    return 0;
}

static int open_file(struct stk_run *run, const char *path, bool joins)
{
    struct stat stat;
    if (!stk_text_copy(run->path, sizeof run->path, path)) {
        return -ENAMETOOLONG;
    }
    STK_OWNED_FD int fd = stk_shared_file_open(path, &stat);
    if (fd < 0) {
        return fd;
    }
    int error = map_file(run, fd);
    if (joins) {
        stk_sys_hold(fd); /* the map keeps it; an old kernel's run lives by its environment alone */
    }
    run->dev = stat.st_dev;
    run->ino = stat.st_ino;
    run->rank = STK_RANK_NONE;
    return error;
}

int stk_run_open(struct stk_run *run, const char *path)
{
    return open_file(run, path, false);
}

int stk_run_join(struct stk_run *run, const char *path)
{
    return open_file(run, path, true);
}

bool stk_run_is_joined(const char *path)
{
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    return fd >= 0 && stk_sys_is_held(fd);
}

static int initialise(int fd, const void *unused)
{
    (void)unused;
    int error = stk_sys_fallocate(fd, 0, COUNTERS_BYTES);
    if (error != 0) {
        return error;
    }
    struct stk_run_file *file = stk_shared_file_map(fd, 0, COUNTERS_BYTES);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->magic = MAGIC;
    file->bytes = sizeof *file;
    file->start_ns = stk_clock_boottime_ns();
    stk_sys_munmap(file, COUNTERS_BYTES);
    return 0;
}

int stk_run_create(struct stk_run *run, const char *home, const char *name)
{
    char path[STK_HOME_BYTES];
    if (!stk_run_path(path, home, name)) {
        return -ENAMETOOLONG;
    }
    int error = stk_shared_file_make(path, initialise, NULL);
    return error != 0 ? error : stk_run_open(run, path);
}

void stk_run_close(struct stk_run *run)
{
    stk_sys_munmap(run->file, COUNTERS_BYTES);
    run->file = NULL;
}

/* The last byte stays 0. */
void stk_run_entitle(struct stk_run *run, const char *title)
{
    if (run->file != NULL) {
        size_t length = strnlen(title, STK_RUN_TITLE_BYTES - 1);
        memcpy(run->file->title, title, length);
    }
}

uint32_t stk_run_number(const char *path)
{
    return (uint32_t)stk_hash_64(path, strlen(path), 0) | 1;
}

int64_t stk_run_start_ns(const struct stk_run *run)
{
    return run->file->start_ns;
}

struct stk_revalidation_queue *stk_run_revalidation_queue(const struct stk_run *run)
{
    return run->file != NULL ? &run->file->revalidation_queue : NULL;
}

struct stk_big_queue *stk_run_big_queue(const struct stk_run *run)
{
    return run->file != NULL ? &run->file->big_queue : NULL;
}

struct stk_shared_requests *stk_run_shared_requests(const struct stk_run *run)
{
    return run->file != NULL ? &run->file->shared_requests : NULL;
}

struct stk_transients *stk_run_transients(const struct stk_run *run)
{
    return run->file != NULL ? &run->file->transients : NULL;
}

/* ---- counting ---- */

/* Returns the number of the stripe of a rank, or of this process where it has none. */
static uint32_t pick(struct stk_run_file *file, int rank)
{
    int row = stk_ranks_row(&file->ranks, rank);
    return row != STK_RANK_NONE ? STK_RUN_STRIPES + (uint32_t)row
                                : (uint32_t)stk_sys_getpid() % STK_RUN_STRIPES;
}

/* This process's stripe, on a page that a child of fork finds zeroed, so that it picks its own. */
static struct stripe *my_stripe(struct stk_run *run)
{
    static _Atomic(_Atomic uint32_t *) page;
    struct stk_run_file *file = run->file;
    _Atomic uint32_t *mine = atomic_load_explicit(&page, memory_order_acquire);
    bool forked = mine != NULL;
    if (mine == NULL) {
        mine = stk_sys_memory(4096);
        if (mine == NULL) {
            return &file->stripes[0];
        }
        stk_sys_madvise(mine, 4096, MADV_WIPEONFORK);
        atomic_store_explicit(&page, mine, memory_order_release);
    }
    uint32_t number = atomic_load_explicit(mine, memory_order_relaxed);
    if (number == 0) {
        number = pick(file, forked ? stk_rank_own() : run->rank) + 1;
        atomic_store_explicit(mine, number, memory_order_relaxed);
    }
    return &file->stripes[number - 1];
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

void stk_run_count(struct stk_run *run, size_t counter, uint64_t amount)
{
    if (run->file != NULL) {
        add(&my_stripe(run)->counters[counter], amount);
    }
}

/* Makes sure that the segment may be touched, and that the tier has paid for it. Two processes that
 * meet here may both pay, which errs in the safe direction. */
static bool ensure_segment(struct stk_run *run, int fd, off_t offset, off_t file_bytes)
{
    int64_t blocks = STK_RUN_SEGMENT_BYTES / STK_BLOCK_BYTES;
    bool grows = file_bytes < offset + STK_RUN_SEGMENT_BYTES;
    if (grows && run->payer != NULL && !stk_budget_take_headroom(run->payer, blocks)) {
        return false;
    }
    if (stk_sys_fallocate(fd, offset, STK_RUN_SEGMENT_BYTES) == 0) {
        return true;
    }
    if (grows && run->payer != NULL) {
        stk_budget_give_headroom(run->payer, blocks);
    }
    return false;
}

static void *map_segment(struct stk_run *run, uint32_t segment)
{
    struct stat stat;
    void *mapped = NULL;
    off_t offset = COUNTERS_BYTES + (off_t)segment * STK_RUN_SEGMENT_BYTES;
    STK_OWNED_FD int fd = stk_shared_file_open(run->path, &stat);
    if (fd < 0) {
        return NULL;
    }
    if (stat.st_ino == run->ino && stat.st_dev == run->dev &&
        ensure_segment(run, fd, offset, stat.st_size)) {
        mapped = stk_shared_file_map(fd, offset, STK_RUN_SEGMENT_BYTES);
    }
    return mapped;
}

/* Returns the counts of this record's file, or NULL. */
static struct opens *opens_of(struct stk_run *run, uint32_t record)
{
    uint32_t segment = (record - 1) / STK_RUN_SEGMENT_FILES;
    if (record == 0 || segment >= STK_RUN_SEGMENTS) {
        return NULL;
    }
    void *files = atomic_load_explicit(&run->files[segment], memory_order_acquire);
    if (files == NULL) {
        void *mapped = map_segment(run, segment);
        if (mapped == NULL) {
            return NULL;
        }
        if (atomic_compare_exchange_strong(&run->files[segment], &files, mapped)) {
            files = mapped;
        } else {
            stk_sys_munmap(mapped, STK_RUN_SEGMENT_BYTES);
        }
    }
    return (struct opens *)files + (record - 1) % STK_RUN_SEGMENT_FILES;
}

/* Which open of this file in the run this is, from 0. */
static unsigned count_epoch(struct stk_run *run, uint32_t record)
{
    unsigned epoch = 0;
    struct opens *opens = opens_of(run, record);
    if (opens == NULL) {
        stk_run_count(run, STK_RUN_COUNTER(unnumbered), 1);
    } else {
        epoch = atomic_load_explicit(&opens->all, memory_order_relaxed);
        if (epoch < STK_RUN_MOST_OPENS) {
            epoch = atomic_fetch_add_explicit(&opens->all, 1, memory_order_relaxed);
        }
    }
    return epoch < STK_RUN_EPOCHS ? epoch : STK_RUN_EPOCHS - 1;
}

static void count_first_hit(_Atomic uint64_t *counters, const struct stk_run_open_counts *open)
{
    if (open->awaited) {
        add(&counters[STK_RUN_COUNTER(awaited)], 1);
    } else if (open->wait_ns > 0) {
        add(&counters[STK_RUN_COUNTER(asked_ns)], (uint64_t)open->wait_ns);
    }
}

unsigned stk_run_count_open(struct stk_run *run, const struct stk_run_open_counts *open)
{
    if (run->file == NULL) {
        return 0;
    }
    unsigned epoch = count_epoch(run, open->record);
    _Atomic uint64_t *counters = my_stripe(run)->counters;
    _Atomic uint64_t *row = &counters[STK_RUN_COUNTER(epochs) + epoch * STK_COUNT_KINDS];
    bool hit = open->kind == STK_COUNT_HITS;
    add(&row[STK_COUNT_OPENS], 1);
    bool cached = hit || open->fetched;
    add(&row[cached ? STK_COUNT_BYTES_CACHE : STK_COUNT_BYTES_ORIGIN], open->bytes);
    if (open->kind != STK_COUNT_OPENS) {
        add(&row[open->kind], 1);
    }
    if (hit) {
        add(&counters[STK_RUN_COUNTER(tiers) + open->tier % STK_TIERS], 1);
    }
    if (hit && epoch == 0) {
        count_first_hit(counters, open);
    }
    if (open->wait_ns > 0) {
        add(&row[STK_COUNT_WAIT_NS], (uint64_t)open->wait_ns);
        add(&counters[STK_RUN_COUNTER(waits) + stk_waits_bucket(open->wait_ns)], 1);
    }
    return epoch;
}

unsigned stk_run_opens(struct stk_run *run, uint32_t record)
{
    const struct opens *opens = run->file != NULL ? opens_of(run, record) : NULL;
    return opens != NULL ? atomic_load_explicit(&opens->all, memory_order_relaxed) : 0;
}

void stk_run_take_over_opens(struct stk_run *run, uint32_t older, uint32_t newer)
{
    const struct opens *from = run->file != NULL ? opens_of(run, older) : NULL;
    struct opens *to = from != NULL ? opens_of(run, newer) : NULL;
    if (to != NULL) {
        atomic_store(&to->all, atomic_load(&from->all));
        atomic_store(&to->decoded, atomic_load(&from->decoded));
    }
}

/* Beyond the limit of what is counted opens are no longer seen. */
static bool count_decoded(struct stk_run *run, uint32_t record, unsigned more)
{
    struct opens *opens = run->file != NULL ? opens_of(run, record) : NULL;
    if (opens == NULL) {
        return false;
    }
    unsigned all = atomic_load_explicit(&opens->all, memory_order_relaxed);
    unsigned decoded = atomic_load_explicit(&opens->decoded, memory_order_relaxed);
    if (decoded < all && more > 0) {
        decoded = atomic_fetch_add_explicit(&opens->decoded, 1, memory_order_relaxed) + 1u;
    }
    return decoded >= all;
}

bool stk_run_count_decoded(struct stk_run *run, uint32_t record)
{
    return count_decoded(run, record, 1);
}

bool stk_run_has_decoded(struct stk_run *run, uint32_t record)
{
    return count_decoded(run, record, 0);
}

void stk_run_count_bypass(struct stk_run *run, enum stk_bypass why, uint64_t bytes)
{
    stk_run_count(run, STK_RUN_COUNTER(bypassed) + why, 1);
    stk_run_count(run, STK_RUN_COUNTER(bypassed_bytes) + why, bytes);
}

static void add_up(const struct stripe *stripes, unsigned count, struct stk_run_counts *out)
{
    uint64_t sums[STK_RUN_COUNTERS] = {0};
    for (unsigned i = 0; i < count; i++) {
        for (size_t counter = 0; counter < STK_RUN_COUNTERS; counter++) {
            sums[counter] += atomic_load(&stripes[i].counters[counter]);
        }
    }
    memcpy(out, sums, sizeof *out);
}

void stk_run_read(const struct stk_run *run, struct stk_run_counts *out)
{
    const struct stripe *stripes = run->file != NULL ? run->file->stripes : NULL;
    add_up(stripes, stripes != NULL ? STK_RUN_STRIPES + STK_RANKS : 0, out);
}

int stk_run_read_rank(const struct stk_run *run, unsigned row, struct stk_run_counts *out)
{
    int rank = run->file != NULL ? stk_ranks_at(&run->file->ranks, row) : STK_RANK_NONE;
    const struct stripe *stripe =
        rank != STK_RANK_NONE ? &run->file->stripes[STK_RUN_STRIPES + row] : NULL;
    add_up(stripe, stripe != NULL, out);
    return rank;
}

/* The two are counted one after the other. */
uint64_t stk_run_files(const struct stk_run_counts *counts)
{
    uint64_t opens = counts->epochs[0][STK_COUNT_OPENS];
    return opens > counts->unnumbered ? opens - counts->unnumbered : 0;
}

int stk_run_look(const char *path, struct stk_run_view *out)
{
    struct stk_run run = {.file = NULL};
    int error = stk_run_open(&run, path);
    if (error == 0) {
        out->start_ns = run.file->start_ns;
        memcpy(out->title, run.file->title, sizeof out->title);
        out->title[sizeof out->title - 1] = '\0';
        stk_run_read(&run, &out->counts);
        stk_run_close(&run);
    }
    return error;
}

const char *stk_bypass_name(enum stk_bypass why)
{
    static const char *const names[STK_BYPASS_KINDS] = {
        [STK_BYPASS_NONE] = "none",           [STK_BYPASS_LARGE] = "large",
        [STK_BYPASS_EMPTY] = "empty",         [STK_BYPASS_YOUNG] = "young",
        [STK_BYPASS_WRITTEN] = "written",     [STK_BYPASS_CHANGED] = "changed",
        [STK_BYPASS_BUDGET] = "budget",       [STK_BYPASS_MEMORY] = "memory",
        [STK_BYPASS_DATABASE] = "database",   [STK_BYPASS_SPARSE] = "sparse",
        [STK_BYPASS_ORIGIN] = "in_memory",    [STK_BYPASS_NAME] = "name",
        [STK_BYPASS_FLAGS] = "flags",         [STK_BYPASS_TIER] = "tier",
        [STK_BYPASS_CATALOGUE] = "catalogue", [STK_BYPASS_STUCK] = "stuck",
        [STK_BYPASS_LEFT] = "left",           [STK_BYPASS_DESCRIPTORS] = "descriptors",
        [STK_BYPASS_REMOVED] = "removed",     [STK_BYPASS_LIMIT] = "limit",
    };
    return names[why];
}
