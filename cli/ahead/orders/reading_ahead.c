#include "cli/ahead/orders/reading_ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/ahead/orders/big_ahead.h"
#include "cli/ahead/orders/exchange.h"
#include "cli/ahead/orders/order_queue.h"
#include "cli/ahead/orders/pace.h"
#include "cli/ahead/orders/range_ahead.h"
#include "cli/ahead/orders/reader_waits.h"
#include "cli/fill/fill_ahead.h"
#include "cli/fill/fill_persistently.h"
#include "cli/fill/open_origin.h"
#include "cli/fill/read_cancel.h"
#include "cli/os/descriptors.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"

#define MOST_THREADS  256
#define LEAST_THREADS 2
#define ATTEMPTS      8 /* of a file to get room that other files have left */
#define IDLE_NS       (STK_NS_PER_S / 1000)
#define LOOK_NS       (STK_NS_PER_S / 1000)

static struct {
    struct stk_cache *cache;
    struct read_cancel cancels[MOST_THREADS];
    unsigned started;
    atomic_uint alive;
    _Atomic uint64_t refused_bytes; /* of the last file for which there was no room */
    pthread_mutex_t lock;           /* of what follows */
    pthread_cond_t changed;
    struct request_pace pace;
    bool over;
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool start_thread(void);

/* ---- how many at a time ---- */

static void note_pace(void)
{
    pthread_mutex_lock(&ahead.lock);
    unsigned before = ahead.pace.allowed;
    pace_note_file(&ahead.pace, stk_clock_boottime_ns());
    while (ahead.started < ahead.pace.allowed && start_thread()) {
    }
    if (ahead.pace.allowed > before) {
        pthread_cond_broadcast(&ahead.changed);
    }
    pthread_mutex_unlock(&ahead.lock);
}

static void note_idle(void)
{
    pthread_mutex_lock(&ahead.lock);
    pace_note_idle(&ahead.pace);
    pthread_mutex_unlock(&ahead.lock);
}

/* Waits until the thread that uses `cancel` may read. */
static void wait_until_allowed(const struct read_cancel *cancel)
{
    pthread_mutex_lock(&ahead.lock);
    while (cancel - ahead.cancels >= ahead.pace.allowed && !ahead.over) {
        pthread_cond_wait(&ahead.changed, &ahead.lock);
    }
    pthread_mutex_unlock(&ahead.lock);
}

/* ---- one file ---- */

/* A file that is being taken. */
struct taking {
    const struct ordered_file *file;
    struct read_cancel *cancel;
    struct reader_waits *waits;
    struct stk_place place;
    struct stk_lookup ask;
    uint32_t record; /* 0: unknown */
    uint64_t bytes;  /* the file's size; 0: unknown */
    unsigned opens;  /* by the job, so far */
    bool has_room;   /* that another file has left */
    bool came;       /* it is read, or will be */
};

/* A file whose record was unknown may be open already. Then it stays a little longer. */
static void note(const struct taking *taking, uint32_t record)
{
    unsigned opens =
        taking->ask.record != 0 ? taking->opens : stk_run_opens(&ahead.cache->run, record);
    exchange_note(&taking->file->turn, record, opens, taking->ask.entry);
}

/* Where files are exchanged, no other fill waits for one that is refused. */
static void fill_from(int fd, int64_t opened_ns, struct taking *taking, struct stk_outcome *outcome)
{
    if (exchange_is_on()) {
        stk_cache_fill(ahead.cache, &taking->place, fd, opened_ns, taking->ask.entry, outcome);
    } else {
        fill_persistently(ahead.cache, &taking->place, fd, opened_ns, taking->ask.entry, outcome);
    }
}

static void count(struct taking *taking, const struct stk_outcome *outcome)
{
    struct stk_run *run = &ahead.cache->run;
    if (outcome->kind == STK_COUNT_FILLS) {
        taking->came = true;
        uint64_t lead = order_queue_lead(&taking->file->turn);
        note_pace();
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_FILES, 1);
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_BYTES, outcome->size);
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_LED, lead > 0);
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_LEAD, lead);
        reader_waits_count(taking->waits, run);
    }
}

/* Has the blocks of a big file read, for which the descriptor is copied. */
static void fill_blocks(struct taking *taking, int fd, int64_t opened_ns,
                        struct stk_outcome *outcome)
{
    if (outcome->why == STK_BYPASS_LARGE && taking->file->large) {
        outcome->why = big_ahead_add(&taking->place, outcome->record, fd, opened_ns);
        taking->came = outcome->why == STK_BYPASS_NONE;
    }
}

/* Fills a file from the shared tier alone. Returns false if its origin is to be opened. */
static bool fetch(struct taking *taking)
{
    struct stk_outcome outcome;
    int64_t began_ns = stk_clock_boottime_ns();
    bool there = stk_cache_fetch(ahead.cache, &taking->place, taking->ask.entry, &outcome);
    taking->waits->waited_ns[STK_AHEAD_STORAGE_NS] += stk_clock_boottime_ns() - began_ns;
    if (there) {
        taking->record = outcome.record;
        taking->bytes = outcome.size;
        count(taking, &outcome);
        note(taking, outcome.record);
    }
    return there;
}

static bool was_opened(const struct taking *taking)
{
    return taking->file->of_tree ? taking->opens > 0
                                 : order_queue_was_opened(&taking->file->turn, taking->opens);
}

/* Returns true if the job has opened the file since it was looked up. */
static bool is_opened_meanwhile(struct taking *taking)
{
    uint32_t record = stk_catalogue_find(&ahead.cache->catalogue, taking->place.key);
    taking->opens = stk_run_opens(&ahead.cache->run, record);
    return was_opened(taking);
}

/* Returns why the file is not there; NONE: it is, or it cannot be opened. */
static enum stk_bypass fill(struct taking *taking)
{
    struct stk_outcome outcome = {0};
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = origin_open(taking->place.path);
    if (fd < 0) {
        return STK_BYPASS_NONE;
    }
    if (exchange_is_on() && is_opened_meanwhile(taking)) {
        stk_sys_close(fd);
        return STK_BYPASS_NONE;
    }
    origin_read_small_directly(taking->place.root, fd);
    read_cancel_begin(taking->cancel, fd);
    fill_from(fd, opened_ns, taking, &outcome);
    fill_blocks(taking, fd, opened_ns, &outcome);
    taking->waits->waited_ns[STK_AHEAD_STORAGE_NS] += stk_clock_boottime_ns() - opened_ns;
    if (read_cancel_end(taking->cancel)) {
        count(taking, &outcome);
    }
    taking->record = outcome.record;
    taking->bytes = outcome.size;
    if (outcome.why == STK_BYPASS_BUDGET) {
        atomic_store(&ahead.refused_bytes, outcome.size);
    }
    if (outcome.kind == STK_COUNT_OPENS) {
        return outcome.why;
    }
    note(taking, outcome.record);
    return STK_BYPASS_NONE;
}

/* Returns false if no tier has room, so that the origin is not opened in vain. A file of unknown
 * size counts as large as the last one that was refused. */
static bool may_have_room(const struct taking *taking)
{
    uint64_t bytes = taking->bytes > 0 ? taking->bytes : atomic_load(&ahead.refused_bytes);
    return taking->has_room || (!exchange_is_on() && fill_has_room(ahead.cache, bytes));
}

/* An entry may have been removed since an earlier run. The job would find that out at its open. */
static enum stk_answer look_up(struct taking *taking)
{
    struct stk_lookup *ask = &taking->ask;
    enum stk_answer answer = stk_cache_lookup(ahead.cache, &taking->place, ask);
    if (answer == STK_ANSWER_HIT && stk_sys_faccessat(AT_FDCWD, ask->entry, F_OK) != 0) {
        stk_cache_lost(ahead.cache, ask);
        return STK_ANSWER_FILL;
    }
    return answer;
}

/* Fills a file unless it is there. Returns why it is not there. */
static enum stk_bypass look_and_fill(struct taking *taking)
{
    enum stk_answer answer = look_up(taking);
    taking->record = taking->ask.record;
    taking->bytes = taking->ask.size;
    taking->opens = stk_run_opens(&ahead.cache->run, taking->record);
    if (answer == STK_ANSWER_HIT) {
        note(taking, taking->record);
        return STK_BYPASS_NONE;
    }
    if (was_opened(taking)) {
        return STK_BYPASS_NONE; /* without the cache, or it would be there */
    }
    return answer == STK_ANSWER_ORIGIN ? taking->ask.why
           : !may_have_room(taking)    ? STK_BYPASS_BUDGET
           : fetch(taking)             ? STK_BYPASS_NONE
                                       : fill(taking);
}

/* Waits until a tier has room. Returns false once the loader is done with the file. One thread
 * looks, and the others wait for it: the files come in their order. */
static bool wait_for_room(const struct taking *taking)
{
    static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
    int64_t began_ns = stk_clock_boottime_ns();
    bool room = false;
    pthread_mutex_lock(&looking);
    while (!room && !order_queue_is_done(&taking->file->turn)) {
        room = exchange_make_room(taking->bytes);
        if (!room) {
            note_idle();
            nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
        }
    }
    pthread_mutex_unlock(&looking);
    taking->waits->waited_ns[STK_AHEAD_ROOM_NS] += stk_clock_boottime_ns() - began_ns;
    return room;
}

/* Fills a file into the room that another one has left. A file that the loader is done with was
 * read from the origin, and will not be read again. */
static enum stk_bypass exchange_for(struct taking *taking)
{
    enum stk_bypass why = STK_BYPASS_BUDGET;
    for (int i = 0; i < ATTEMPTS && why == STK_BYPASS_BUDGET && wait_for_room(taking); i++) {
        uint64_t promised = taking->bytes;
        taking->has_room = true;
        why = look_and_fill(taking);
        exchange_end_promise(promised);
    }
    return why;
}

static void take(const struct ordered_file *file, struct read_cancel *cancel,
                 struct reader_waits *waits)
{
    struct taking taking = {.file = file, .cancel = cancel, .waits = waits};
    enum stk_bypass why = STK_BYPASS_NONE;
    if (file->path[0] != '\0' &&
        stk_cache_place(ahead.cache, file->path, AT_FDCWD, file->path, &taking.place)) {
        why = look_and_fill(&taking);
    }
    if (why == STK_BYPASS_BUDGET) {
        why = exchange_for(&taking);
    }
    uint32_t record = file->amid && !taking.came ? 0 : taking.record;
    order_queue_report(file, record, !fill_is_want_of_room(why));
}

/* Has a range of a big file read. Returns false if the file is none. */
static bool take_range(const struct ordered_file *file, struct reader_waits *waits)
{
    struct stk_run *run = &ahead.cache->run;
    struct range_name range;
    if (!range_name_parse(file->path, &range)) {
        return false;
    }
    int64_t began_ns = stk_clock_boottime_ns();
    uint64_t read = order_queue_is_done(&file->turn) ? 0 : range_ahead_read(file->path, &range);
    if (read > 0) {
        waits->waited_ns[STK_AHEAD_STORAGE_NS] += stk_clock_boottime_ns() - began_ns;
        note_pace();
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_RANGES, 1);
        stk_run_count(run, STK_RUN_COUNTER(ahead) + STK_AHEAD_RANGE_BYTES, read);
        reader_waits_count(waits, run);
    }
    order_queue_report(file, 0, true);
    return true;
}

static int64_t later(int64_t one_ns, int64_t other_ns)
{
    return one_ns > other_ns ? one_ns : other_ns;
}

/* Takes the next file, and notes if there was none for a while. */
static bool take_next(struct ordered_file *file, const struct read_cancel *cancel,
                      struct reader_waits *waits)
{
    wait_until_allowed(cancel);
    int64_t began_ns = stk_clock_boottime_ns();
    bool any = order_queue_take(file);
    int64_t now_ns = stk_clock_boottime_ns();
    memset(waits->waited_ns, 0, sizeof waits->waited_ns);
    if (now_ns - began_ns > IDLE_NS) {
        note_idle();
        waits->waited_ns[STK_AHEAD_WINDOW_NS] =
            any ? now_ns - later(began_ns, file->pass_began_ns) : 0;
    }
    return any;
}

static void *read_files(void *cancel)
{
    struct ordered_file file;
    struct reader_waits waits = {.files = 0};
    priority_lower();
    while (take_next(&file, cancel, &waits)) {
        if (!take_range(&file, &waits)) {
            take(&file, cancel, &waits);
        }
    }
    atomic_fetch_sub(&ahead.alive, 1);
    return cancel;
}

/* ---- the threads ---- */

/* Starts another thread, under the lock. */
static bool start_thread(void)
{
    struct read_cancel *cancel = &ahead.cancels[ahead.started];
    read_cancel_set_up(cancel);
    atomic_fetch_add(&ahead.alive, 1);
    if (!thread_start_detached(read_files, cancel)) {
        atomic_fetch_sub(&ahead.alive, 1);
        return false;
    }
    ahead.started++;
    return true;
}

void reading_ahead_begin(struct stk_cache *cache, unsigned jobs)
{
    ahead.cache = cache;
    exchange_begin(cache);
    big_ahead_begin(cache);
    range_ahead_begin(cache);
    descriptors_raise_limit();
    unsigned wanted = jobs > 0 ? jobs : 2 * fill_ahead_jobs(&cache->roots);
    wanted = wanted < MOST_THREADS ? wanted : MOST_THREADS;
    pace_begin(&ahead.pace, wanted, LEAST_THREADS, jobs > 0 ? wanted : MOST_THREADS);
    pthread_mutex_lock(&ahead.lock);
    while (ahead.started < wanted && start_thread()) {
    }
    pthread_mutex_unlock(&ahead.lock);
}

void reading_ahead_end(void)
{
    pthread_mutex_lock(&ahead.lock);
    ahead.over = true;
    pthread_cond_broadcast(&ahead.changed);
    pthread_mutex_unlock(&ahead.lock);
    int64_t began_ns = stk_clock_boottime_ns();
    while (atomic_load(&ahead.alive) > 0) {
        for (unsigned each = 0; each < ahead.started; each++) {
            read_cancel_cut(&ahead.cancels[each]);
        }
        thread_pause_since(began_ns);
    }
}
