/* Big files that are to be made whole. See cli/whole.h. */
#include "cli/whole.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cli/request.h"

#define WORKS    (REQUEST_MOST_JOBS + STK_BEGUN_SLOTS)
#define FRIENDS  2                   /* who want the same file: what fills ahead, and the job */
#define LOOK_NS  (STK_NS_PER_S / 10) /* a signal cannot wake those who wait */
#define SHARE    3                   /* while it reads, a block is followed by so long a pause */
#define PAUSE_NS (STK_NS_PER_S / 5)  /* at the most */
#define ATTEMPTS 3                   /* the budget's account may be in others' hands */
#define AGAIN_NS (STK_NS_PER_S / 500)

/* One file at work. */
struct work {
    uint64_t turn; /* its own; 0: free */
    char path[STK_PATH_BYTES];
    int fd; /* of the origin */
    int64_t opened_ns;
    uint32_t record;
    uint64_t stamp; /* of its table of blocks: that of one version */
    enum whole_rank rank;
    uint64_t bytes, block_bytes, blocks, next, filled;
    unsigned hands;      /* blocks under way */
    bool cut;            /* by a thread that was ended: nobody asks what became of it */
    enum stk_bypass why; /* a block could not be had */
    struct whole_file friends[FRIENDS];
    unsigned friend_count;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct stk_cache *cache;
    struct stk_begun *begun;
    uint64_t turns;
    atomic_uint count; /* of works; changed under the lock */
    size_t used;       /* all works behind these are free */
    bool paced;        /* a thread fills while the job reads */
    struct work works[WORKS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void whole_begin(struct stk_cache *cache, struct stk_begun *begun)
{
    pthread_mutex_lock(&pool.lock);
    pool.cache = pool.cache != NULL ? pool.cache : cache;
    pool.begun = pool.begun != NULL ? pool.begun : begun;
    pthread_mutex_unlock(&pool.lock);
}

void whole_wake(void)
{
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

bool whole_is_any(void)
{
    return atomic_load(&pool.count) > 0;
}

/* Its last block may be a short one. */
static uint64_t left_of(const struct work *work)
{
    uint64_t next = work->next < work->blocks ? work->next : work->blocks;
    uint64_t there = (next - (work->hands < next ? work->hands : next)) * work->block_bytes;
    return work->turn != 0 && there < work->bytes ? work->bytes - there : 0;
}

uint64_t whole_left_bytes(uint64_t *files)
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

/* What it lacks, in blocks of the budget. */
static int64_t lacking(const struct stk_blocks *blocks)
{
    int64_t lacking = 0;
    uint32_t fs_block_bytes = blocks->tier->shared->block_bytes;
    for (uint64_t block = 0; block < blocks->count; block++) {
        if (!stk_blocks_is_paid(atomic_load(&blocks->words[block]))) {
            lacking += stk_budget_blocks_of(stk_blocks_bytes_of(blocks, block), fs_block_bytes);
        }
    }
    return lacking;
}

/* Under the lock. */
static struct work *find(const struct stk_blocks *blocks)
{
    for (size_t i = 0; i < pool.used; i++) {
        if (pool.works[i].turn != 0 && pool.works[i].stamp == blocks->stamp) {
            return &pool.works[i];
        }
    }
    return NULL;
}

/* A file that somebody has opened. */
struct opened {
    uint32_t record;
    int fd;
    int64_t ns; /* when, or before */
};

/* Under the lock; NULL: there are too many. */
static struct work *make(const struct stk_place *place, const struct opened *opened,
                         const struct stk_blocks *blocks)
{
    size_t free = 0;
    while (free < WORKS && pool.works[free].turn != 0) {
        free++;
    }
    struct work *work = free < WORKS ? &pool.works[free] : NULL;
    int fd = work != NULL ? stk_sys_dup_above(opened->fd, 0) : -1;
    if (fd < 0) {
        return NULL;
    }
    *work = (struct work){.turn = ++pool.turns,
                          .fd = fd,
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

/* Under the lock. Whoever comes once more, with another ticket, is one of the two. */
static void befriend(struct work *work, const struct whole_file *file)
{
    unsigned i = 0;
    while (i < work->friend_count && work->friends[i].told != file->told) {
        i++;
    }
    if (i < FRIENDS) {
        work->friends[i] = *file;
        work->friend_count = i < work->friend_count ? work->friend_count : i + 1;
    }
    work->rank = file->rank > work->rank ? file->rank : work->rank;
}

static enum whole_taken take(const struct stk_place *place, const struct opened *opened,
                             const struct whole_file *file, const struct stk_blocks *blocks)
{
    pthread_mutex_lock(&pool.lock);
    struct work *work = find(blocks);
    work = work != NULL ? work : make(place, opened, blocks);
    if (work != NULL) {
        befriend(work, file);
        pthread_cond_broadcast(&pool.changed);
    }
    pthread_mutex_unlock(&pool.lock);
    return work != NULL ? WHOLE_LEFT : WHOLE_LATER;
}

/* Where the last block was brought by somebody who was killed then, only the entry is missing. */
static bool is_whole(struct stk_big *big)
{
    if (atomic_load(&big->blocks.table->whole) == 0) {
        stk_big_complete(pool.cache, big);
    }
    return atomic_load(&big->blocks.table->whole) != 0;
}

enum whole_taken whole_add(const struct stk_place *place, uint32_t record, int fd,
                           int64_t opened_ns, const struct whole_file *file, struct whole_end *end)
{
    struct stk_big big;
    const struct opened opened = {record, fd, opened_ns};
    enum whole_taken taken = WHOLE_REFUSED;
    memset(&big, 0, sizeof big);
    end->filled = 0;
    end->why = stk_big_open(&big, pool.cache, place, record, fd, opened_ns);
    if (end->why != STK_BYPASS_NONE) {
        return WHOLE_REFUSED;
    }
    end->bytes = big.blocks.size;
    if (is_whole(&big)) {
        taken = WHOLE_THERE;
    } else if (lacking(&big.blocks) > stk_budget_left(&big.blocks.tier->shared->budget)) {
        end->why = STK_BYPASS_BUDGET;
    } else {
        taken = take(place, &opened, file, &big.blocks);
    }
    stk_big_close(&big);
    return taken;
}

/* ---- one block ---- */

void hand_set_up(struct hand *hand)
{
    desk_set_up(&hand->desk);
    hand->turn = 0;
}

void hand_close(struct hand *hand)
{
    if (hand->turn != 0) {
        stk_big_close(&hand->big);
        hand->turn = 0;
    }
    if (hand->desk.fd >= 0) {
        desk_clear(&hand->desk);
    }
}

/* By a number of its own, which can be taken away from it. It is one open file for all: to open it
 * once more has some file systems forget what they have fetched of it. */
static enum stk_bypass take_up(struct hand *hand, const struct work *work)
{
    struct stk_place place;
    if (hand->turn == work->turn) {
        return STK_BYPASS_NONE;
    }
    hand_close(hand);
    int fd = stk_sys_dup_above(work->fd, 0);
    if (fd < 0) {
        return STK_BYPASS_CHANGED;
    }
    desk_put(&hand->desk, fd);
    if (!stk_cache_place(pool.cache, work->path, AT_FDCWD, work->path, &place)) {
        return STK_BYPASS_CHANGED;
    }
    enum stk_bypass why =
        stk_big_open(&hand->big, pool.cache, &place, work->record, fd, work->opened_ns);
    hand->turn = why == STK_BYPASS_NONE ? work->turn : 0;
    return why;
}

static bool have(struct hand *hand, uint64_t block, bool *filled)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (stk_big_have(pool.cache, &hand->big, hand->desk.fd, block, filled)) {
            return true;
        }
        nanosleep(&(struct timespec){0, AGAIN_NS}, NULL);
    }
    return false;
}

/* How much came, and by nobody else. */
static enum stk_bypass bring(struct hand *hand, const struct work *work, uint64_t block,
                             uint64_t *came)
{
    bool filled;
    enum stk_bypass why = take_up(hand, work);
    if (why != STK_BYPASS_NONE || stk_blocks_is_present(&hand->big.blocks, block)) {
        return why;
    }
    if (!have(hand, block, &filled)) {
        return stk_big_reason(pool.cache, &hand->big);
    }
    *came = filled ? stk_blocks_bytes_of(&hand->big.blocks, block) : 0;
    return STK_BYPASS_NONE;
}

/* ---- ends ---- */

static void tell(const struct work *work, const struct whole_end *end)
{
    struct whole_end mine = *end;
    for (unsigned i = 0; i < work->friend_count; i++) {
        const struct whole_file *friend = &work->friends[i];
        stk_begun_mark(pool.begun, friend->ticket,
                       end->why == STK_BYPASS_NONE ? STK_BEGUN_DONE : STK_BEGUN_LEFT);
        friend->told(&mine);
        mine.filled = 0;
    }
}

/* Its last block may have come just before its thread was to end: what was cut then asks the origin
 * nothing more. */
static bool came_whole(const struct work *work, struct hand *hand)
{
    bool open = work->why == STK_BYPASS_NONE && hand->turn == work->turn;
    return open &&
           (work->cut ? atomic_load(&hand->big.blocks.table->whole) != 0 : is_whole(&hand->big));
}

/* Under the lock. The last hand has gone, or the next would be in vain. */
static void settle(struct work *work, struct hand *hand)
{
    struct whole_end end = {.bytes = work->bytes, .filled = work->filled, .why = work->why};
    bool came = came_whole(work, hand);
    if (end.why == STK_BYPASS_NONE && !came && !work->cut) {
        end.why = stk_big_reason(pool.cache, &hand->big);
    }
    if (came || !work->cut) {
        tell(work, &end);
    }
    stk_sys_close(work->fd);
    work->turn = 0;
    atomic_fetch_sub(&pool.count, 1);
}

static void note_came(const struct work *work, uint64_t came)
{
    if (came > 0 && work->friends[0].came != NULL) {
        work->friends[0].came(came);
    }
    if (pool.begun != NULL) {
        stk_begun_step(pool.begun);
    }
}

/* Nobody keeps open what has no more to be done. */
static void put_down(struct work *work, struct hand *hand, enum stk_bypass why, uint64_t came)
{
    pthread_mutex_lock(&pool.lock);
    work->filled += came;
    work->cut = work->cut || hand->desk.cut;
    work->why = work->why != STK_BYPASS_NONE ? work->why : why;
    note_came(work, came);
    work->hands--;
    bool over = work->why != STK_BYPASS_NONE || work->next >= work->blocks;
    if (over && work->hands == 0) {
        settle(work, hand);
    }
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
    if (over) {
        hand_close(hand);
    }
}

/* ---- steps ---- */

/* Under the lock: of the files that still have blocks to be taken. */
static struct work *find_best(void)
{
    struct work *best = NULL;
    for (size_t i = 0; i < pool.used; i++) {
        struct work *work = &pool.works[i];
        bool open = work->turn != 0 && work->next < work->blocks && work->why == STK_BYPASS_NONE;
        if (open && (best == NULL || work->rank > best->rank ||
                     (work->rank == best->rank && work->turn < best->turn))) {
            best = work;
        }
    }
    return best;
}

/* What an open waits for makes way for nobody. */
static bool yields(const struct work *work)
{
    bool all = work->rank != WHOLE_AWAITED;
    for (unsigned i = 0; i < work->friend_count; i++) {
        all = all && work->friends[i].yields;
    }
    return all;
}

static bool is_job_reading(void)
{
    return pool.begun != NULL && stk_begun_is_reading(pool.begun);
}

/* Under the lock, which is let go meanwhile. */
static void wait_a_moment(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / STK_NS_PER_S;
    until.tv_nsec %= STK_NS_PER_S;
    pthread_cond_timedwait(&pool.changed, &pool.lock, &until);
}

/* The next block of what is wanted most; NULL: there is nothing to do. */
static struct work *take_block(struct hand *hand, bool (*more)(void), uint64_t *block, bool *paced)
{
    struct work *work;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        work = find_best();
        *paced = work != NULL && yields(work) && is_job_reading();
        if ((work != NULL && !(*paced && pool.paced)) || !more()) {
            break;
        }
        if (work == NULL) {
            hand_close(hand); /* another has taken the last block of its file */
        }
        wait_a_moment();
    }
    work = *paced && pool.paced ? NULL : work;
    if (work != NULL) {
        *block = work->next++;
        work->hands++;
        pool.paced = pool.paced || *paced;
    }
    pthread_mutex_unlock(&pool.lock);
    return work;
}

/* Until the job has had its turn. */
static void pause_after(int64_t began_ns)
{
    int64_t pause_ns = SHARE * (stk_clock_boottime_ns() - began_ns);
    nanosleep(&(struct timespec){0, pause_ns < PAUSE_NS ? pause_ns : PAUSE_NS}, NULL);
    pthread_mutex_lock(&pool.lock);
    pool.paced = false;
    pthread_mutex_unlock(&pool.lock);
}

bool whole_step(struct hand *hand, bool (*more)(void))
{
    bool paced;
    uint64_t block, came = 0;
    struct work *work = take_block(hand, more, &block, &paced);
    if (work == NULL) {
        return false;
    }
    int64_t began_ns = stk_clock_boottime_ns();
    enum stk_bypass why = bring(hand, work, block, &came);
    put_down(work, hand, why, came);
    if (paced) {
        pause_after(began_ns);
    }
    return true;
}
