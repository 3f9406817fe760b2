#include "cli/fill/big_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/big/big_fill.h"
#include "cli/args/request.h"
#include "cli/fill/open_origin.h"

#define WORKS    (REQUEST_MOST_JOBS + STK_BIG_QUEUE_SLOTS)
#define ASKERS   2                   /* askers of one file: filling ahead, and the job */
#define LOOK_NS  (STK_NS_PER_S / 10) /* a signal cannot wake waiting threads */
#define SHARE    3 /* while the job reads, each block is followed by a pause so many times as long */
#define PAUSE_NS (STK_NS_PER_S / 5) /* the longest pause */
#define ATTEMPTS 3                  /* the ledger may be locked by another process */
#define AGAIN_NS (STK_NS_PER_S / 500)

/* One file under way. */
struct big_work {
    uint64_t turn; /* its own number; 0: the slot is free */
    char path[STK_PATH_BYTES];
    int fd;      /* of the origin */
    bool direct; /* by which the kernel keeps nothing */
    int64_t opened_ns;
    uint32_t record;
    uint64_t stamp; /* of its block table: it stands for one version */
    enum big_rank rank;
    uint64_t bytes, block_bytes, blocks, next, filled;
    unsigned workers;    /* blocks under way */
    bool cut;            /* by a thread that was ended: then no outcome is reported */
    enum stk_bypass why; /* the reason why a block could not be filled */
    struct big_file askers[ASKERS];
    unsigned asker_count;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct stk_cache *cache;
    struct stk_big_queue *big_queue;
    uint64_t turns;
    atomic_uint count; /* of works in use; changed under the lock */
    size_t used;       /* all works from this index on are free */
    bool paced;        /* a thread fills while the job reads */
    size_t room;       /* of `works`, which is mapped when the first file comes */
    struct big_work *works;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Makes room for the works, under the lock: for one of them if addresses are short. */
static void ensure_works(void)
{
    static struct big_work one;
    if (pool.works == NULL) {
        pool.works = calloc(WORKS, sizeof *pool.works);
        pool.room = pool.works != NULL ? WORKS : 1;
        pool.works = pool.works != NULL ? pool.works : &one;
    }
}

void big_files_begin(struct stk_cache *cache, struct stk_big_queue *big_queue)
{
    pthread_mutex_lock(&pool.lock);
    pool.cache = pool.cache != NULL ? pool.cache : cache;
    pool.big_queue = pool.big_queue != NULL ? pool.big_queue : big_queue;
    pthread_mutex_unlock(&pool.lock);
}

void big_files_wake(void)
{
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

bool big_files_is_any(void)
{
    return atomic_load(&pool.count) > 0;
}

/* Returns the bytes that are left. The last block may be a short one. */
static uint64_t left_of(const struct big_work *work)
{
    uint64_t next = work->next < work->blocks ? work->next : work->blocks;
    uint64_t there = (next - (work->workers < next ? work->workers : next)) * work->block_bytes;
    return work->turn != 0 && there < work->bytes ? work->bytes - there : 0;
}

uint64_t big_files_left_bytes(uint64_t *files)
{
    uint64_t left = 0;
    pthread_mutex_lock(&pool.lock);
    *files = atomic_load(&pool.count);
    for (size_t i = 0; i < pool.used; i++) {
        left += left_of(&pool.works[i]);
    }
    pthread_mutex_unlock(&pool.lock);
    return left;
}

/* ---- taking files ---- */

/* Returns the blocks of the budget that the file still needs. */
static int64_t lacking(const struct stk_big_blocks *blocks)
{
    int64_t lacking = 0;
    uint32_t fs_block_bytes = blocks->tier->shared->block_bytes;
    for (uint64_t block = 0; block < blocks->count; block++) {
        if (!stk_big_blocks_is_paid(atomic_load(&blocks->words[block]))) {
            lacking += stk_budget_blocks_of(stk_big_blocks_bytes_of(blocks, block), fs_block_bytes);
        }
    }
    return lacking;
}

/* Finds the work of a record, or that of a block table, if `stamp` is not 0. Call it under the
 * lock. */
static struct big_work *find(uint32_t record, uint64_t stamp)
{
    for (size_t i = 0; i < pool.used; i++) {
        struct big_work *work = &pool.works[i];
        bool same = stamp != 0 ? work->stamp == stamp : work->record == record;
        if (work->turn != 0 && same) {
            return work;
        }
    }
    return NULL;
}

/* An open file. */
struct opened {
    uint32_t record;
    int fd;
    int64_t ns; /* when it was opened, or earlier */
};

/* Call it under the lock. Returns NULL if there are too many works. */
static struct big_work *make(const struct stk_place *place, const struct opened *opened,
                             const struct stk_big_blocks *blocks)
{
    size_t free = 0;
    ensure_works();
    while (free < pool.room && pool.works[free].turn != 0) {
        free++;
    }
    struct big_work *work = free < pool.room ? &pool.works[free] : NULL;
    int fd = work != NULL ? stk_sys_dup_above(opened->fd, 0) : -1;
    if (fd < 0) {
        return NULL;
    }
    *work = (struct big_work){.turn = ++pool.turns,
                              .fd = fd,
                              .direct = origin_read_directly(place->root, fd, blocks->size),
                              .opened_ns = opened->ns,
                              .record = opened->record,
                              .stamp = blocks->stamp,
                              .bytes = blocks->size,
                              .block_bytes = blocks->block_bytes,
                              .blocks = blocks->count};
    stk_text_copy(work->path, sizeof work->path, place->path);
    pool.used = free < pool.used ? pool.used : free + 1;
    atomic_fetch_add(&pool.count, 1);
    return work;
}

/* Adds an asker. Call it under the lock. An asker that comes again with another ticket replaces
 * itself. */
static void add_asker(struct big_work *work, const struct big_file *file)
{
    unsigned i = 0;
    while (i < work->asker_count && work->askers[i].ended != file->ended) {
        i++;
    }
    if (i < ASKERS) {
        work->askers[i] = *file;
        work->asker_count = i < work->asker_count ? work->asker_count : i + 1;
    }
    work->rank = file->rank > work->rank ? file->rank : work->rank;
}

bool big_files_join(uint32_t record, const struct big_file *file)
{
    pthread_mutex_lock(&pool.lock);
    struct big_work *work = find(record, 0);
    if (work != NULL) {
        add_asker(work, file);
        pthread_cond_broadcast(&pool.changed);
    }
    pthread_mutex_unlock(&pool.lock);
    return work != NULL;
}

static enum big_taken take(const struct stk_place *place, const struct opened *opened,
                           const struct big_file *file, const struct stk_big_blocks *blocks)
{
    pthread_mutex_lock(&pool.lock);
    struct big_work *work = find(opened->record, blocks->stamp);
    work = work != NULL ? work : make(place, opened, blocks);
    if (work != NULL) {
        atomic_store(&blocks->table->opened, 1);
        add_asker(work, file);
        pthread_cond_broadcast(&pool.changed);
    }
    pthread_mutex_unlock(&pool.lock);
    return work != NULL ? BIG_QUEUED : BIG_LATER;
}

/* Returns true if the file is complete. If the process that filled the last block was killed right
 * then, only the entry is missing, and is made here. */
static bool is_whole(struct stk_big *big)
{
    if (atomic_load(&big->blocks.table->whole) == 0) {
        stk_big_complete(pool.cache, big);
    }
    return atomic_load(&big->blocks.table->whole) != 0;
}

enum big_taken big_files_add(const struct stk_place *place, uint32_t record, int fd,
                             int64_t opened_ns, const struct big_file *file, struct big_end *end)
{
    struct stk_big big;
    const struct opened opened = {record, fd, opened_ns};
    enum big_taken taken = BIG_REFUSED;
    memset(&big, 0, sizeof big);
    end->filled = 0;
    end->why = stk_big_open(&big, pool.cache, place, record, fd, opened_ns);
    if (end->why != STK_BYPASS_NONE) {
        return stk_big_is_entry(pool.cache, record) ? BIG_THERE : BIG_REFUSED;
    }
    end->bytes = big.blocks.size;
    if (is_whole(&big)) {
        taken = BIG_THERE;
    } else if (lacking(&big.blocks) > stk_budget_left(&big.blocks.tier->shared->budget)) {
        end->why = STK_BYPASS_BUDGET;
    } else {
        taken = take(place, &opened, file, &big.blocks);
    }
    stk_big_close(&big);
    return taken;
}

/* ---- one block ---- */

void big_worker_set_up(struct big_worker *worker)
{
    read_cancel_set_up(&worker->cancel);
    worker->turn = 0;
    worker->buffer = NULL;
}

void big_worker_close(struct big_worker *worker)
{
    if (worker->turn != 0) {
        stk_big_close(&worker->big);
        worker->turn = 0;
        free(worker->buffer);
        worker->buffer = NULL;
    }
    if (worker->cancel.fd >= 0) {
        read_cancel_end(&worker->cancel);
    }
}

static void read_directly(struct big_worker *worker)
{
    worker->buffer = malloc(worker->big.blocks.block_bytes);
    stk_big_read_directly(&worker->big, worker->buffer);
}

/* Opens the work's file for this worker, by a descriptor number of its own, which another thread
 * can take away. All workers share one open file: some file systems forget what they have fetched
 * if a file is opened once more. */
static enum stk_bypass take_up(struct big_worker *worker, const struct big_work *work)
{
    struct stk_place place;
    if (worker->turn == work->turn) {
        return STK_BYPASS_NONE;
    }
    big_worker_close(worker);
    int fd = stk_sys_dup_above(work->fd, 0);
    if (fd < 0) {
        return STK_BYPASS_CHANGED;
    }
    read_cancel_begin(&worker->cancel, fd);
    if (!stk_cache_place(pool.cache, work->path, AT_FDCWD, work->path, &place)) {
        return STK_BYPASS_CHANGED;
    }
    enum stk_bypass why =
        stk_big_open(&worker->big, pool.cache, &place, work->record, fd, work->opened_ns);
    worker->turn = why == STK_BYPASS_NONE ? work->turn : 0;
    if (why == STK_BYPASS_NONE && work->direct) {
        read_directly(worker);
    }
    return why;
}

static bool have(struct big_worker *worker, uint64_t block, bool *filled)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (stk_big_have(pool.cache, &worker->big, worker->cancel.fd, block, filled)) {
            return true;
        }
        nanosleep(&(struct timespec){0, AGAIN_NS}, NULL);
    }
    return false;
}

/* Fills a block. Sets `came` to its bytes if no other process filled it. The job may have completed
 * the file before this worker opens it. */
static enum stk_bypass bring(struct big_worker *worker, const struct big_work *work, uint64_t block,
                             uint64_t *came)
{
    bool filled;
    enum stk_bypass why = take_up(worker, work);
    if (why != STK_BYPASS_NONE) {
        return stk_big_is_entry(pool.cache, work->record) ? STK_BYPASS_NONE : why;
    }
    if (stk_big_blocks_is_present(&worker->big.blocks, block)) {
        return STK_BYPASS_NONE;
    }
    if (!have(worker, block, &filled)) {
        return stk_big_reason(pool.cache, &worker->big);
    }
    *came = filled ? stk_big_blocks_bytes_of(&worker->big.blocks, block) : 0;
    return STK_BYPASS_NONE;
}

/* ---- ends ---- */

static void report_end(const struct big_work *work, const struct big_end *end)
{
    struct big_end mine = *end;
    for (unsigned i = 0; i < work->asker_count; i++) {
        const struct big_file *asker = &work->askers[i];
        stk_big_queue_mark(pool.big_queue, asker->ticket,
                           end->why == STK_BYPASS_NONE ? STK_BIG_QUEUE_DONE : STK_BIG_QUEUE_LEFT);
        asker->ended(&mine);
        mine.filled = 0;
    }
}

/* Returns true if the file is complete. The last block may have come just before its thread was
 * cut. Then the origin is not asked any more. */
static bool came_whole(const struct big_work *work, struct big_worker *worker)
{
    if (work->why != STK_BYPASS_NONE) {
        return false;
    }
    return worker->turn != work->turn ? stk_big_is_entry(pool.cache, work->record)
           : work->cut                ? atomic_load(&worker->big.blocks.table->whole) != 0
                                      : is_whole(&worker->big);
}

/* Returns why a file was left that `why` says changed: another reason if it has no name any more.
 * No server is asked. */
static enum stk_bypass reason_of(const struct big_work *work, enum stk_bypass why)
{
    struct statx answer;
    int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    bool nameless = why == STK_BYPASS_CHANGED &&
                    stk_sys_statx(work->fd, "", flags, STATX_NLINK, &answer) == 0 &&
                    answer.stx_nlink == 0;
    return nameless ? STK_BYPASS_REMOVED : why;
}

/* Ends a work: the last worker has gone, or further blocks would be in vain. Call it under the
 * lock. */
static void settle(struct big_work *work, struct big_worker *worker)
{
    struct big_end end = {.bytes = work->bytes, .filled = work->filled, .why = work->why};
    bool came = came_whole(work, worker);
    if (end.why == STK_BYPASS_NONE && !came && !work->cut) {
        end.why = worker->turn == work->turn ? stk_big_reason(pool.cache, &worker->big)
                                             : STK_BYPASS_TIER; /* the entry is gone again */
    }
    end.why = reason_of(work, end.why);
    if (came || !work->cut) {
        report_end(work, &end);
    }
    stk_sys_close(work->fd);
    work->turn = 0;
    atomic_fetch_sub(&pool.count, 1);
}

static void note_came(const struct big_work *work, uint64_t came)
{
    if (came > 0 && work->askers[0].came != NULL) {
        work->askers[0].came(came);
    }
    if (pool.big_queue != NULL) {
        stk_big_queue_step(pool.big_queue);
    }
}

/* Returns a block to its work. A worker closes a file for which there is no more to do. */
static void put_down(struct big_work *work, struct big_worker *worker, enum stk_bypass why,
                     uint64_t came)
{
    pthread_mutex_lock(&pool.lock);
    work->filled += came;
    work->cut = work->cut || worker->cancel.cut;
    work->why = work->why != STK_BYPASS_NONE ? work->why : why;
    note_came(work, came);
    work->workers--;
    bool over = work->why != STK_BYPASS_NONE || work->next >= work->blocks;
    if (over && work->workers == 0) {
        settle(work, worker);
    }
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
    if (over) {
        big_worker_close(worker);
    }
}

/* ---- steps ---- */

/* Returns the most wanted file with blocks left. Call it under the lock. */
static struct big_work *find_best(void)
{
    struct big_work *best = NULL;
    for (size_t i = 0; i < pool.used; i++) {
        struct big_work *work = &pool.works[i];
        bool open = work->turn != 0 && work->next < work->blocks && work->why == STK_BYPASS_NONE;
        if (open && (best == NULL || work->rank > best->rank ||
                     (work->rank == best->rank && work->turn < best->turn))) {
            best = work;
        }
    }
    return best;
}

/* Returns true if the file yields to the job. A file that an open waits for never does. */
static bool yields(const struct big_work *work)
{
    bool all = work->rank != BIG_AWAITED;
    for (unsigned i = 0; i < work->asker_count; i++) {
        all = all && work->askers[i].yields;
    }
    return all;
}

static bool is_job_reading(void)
{
    return pool.big_queue != NULL && stk_big_queue_is_reading(pool.big_queue);
}

/* Call it under the lock, which is released meanwhile. */
static void wait_a_moment(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / STK_NS_PER_S;
    until.tv_nsec %= STK_NS_PER_S;
    pthread_cond_timedwait(&pool.changed, &pool.lock, &until);
}

/* Takes the next block of the most wanted file. Returns NULL if there is nothing to do. */
static struct big_work *take_block(struct big_worker *worker, bool (*more)(void), uint64_t *block,
                                   bool *paced)
{
    struct big_work *work;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        work = find_best();
        *paced = work != NULL && yields(work) && is_job_reading();
        if ((work != NULL && !(*paced && pool.paced)) || !more()) {
            break;
        }
        if (work == NULL) {
            big_worker_close(worker); /* another worker took the last block of its file */
        }
        wait_a_moment();
    }
    work = *paced && pool.paced ? NULL : work;
    if (work != NULL) {
        *block = work->next++;
        work->workers++;
        pool.paced = pool.paced || *paced;
    }
    pthread_mutex_unlock(&pool.lock);
    return work;
}

/* Pauses, so that the job has its turn. */
static void pause_after(int64_t began_ns)
{
    int64_t pause_ns = SHARE * (stk_clock_boottime_ns() - began_ns);
    nanosleep(&(struct timespec){0, pause_ns < PAUSE_NS ? pause_ns : PAUSE_NS}, NULL);
    pthread_mutex_lock(&pool.lock);
    pool.paced = false;
    pthread_mutex_unlock(&pool.lock);
}

bool big_files_step(struct big_worker *worker, bool (*more)(void))
{
    bool paced;
    uint64_t block, came = 0;
    struct big_work *work = take_block(worker, more, &block, &paced);
    if (work == NULL) {
        return false;
    }
    int64_t began_ns = stk_clock_boottime_ns();
    enum stk_bypass why = bring(worker, work, block, &came);
    put_down(work, worker, why, came);
    if (paced) {
        pause_after(began_ns);
    }
    return true;
}
