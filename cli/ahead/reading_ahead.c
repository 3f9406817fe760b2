#include "cli/ahead/reading_ahead.h"

#include <fcntl.h>
#include <time.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/ahead/order_queue.h"
#include "cli/fill/fill_ahead.h"
#include "cli/fill/filler.h"
#include "cli/fill/open_origin.h"
#include "cli/fill/read_cancel.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"

#define MOST_THREADS 64
#define STEP_NS      (STK_NS_PER_S / 100)

static struct {
    struct stk_cache *cache;
    struct ahead_counters *counters;
    struct read_cancel cancels[MOST_THREADS];
    unsigned started;
    atomic_uint alive;
} ahead;

/* ---- one file ---- */

/* The outcome of one file. */
struct taken {
    uint32_t record; /* 0: unknown */
    bool room;       /* false: nothing has room for it */
};

static struct taken fill(const struct stk_place *place, struct stk_lookup *ask,
                         struct read_cancel *cancel)
{
    struct stk_outcome outcome = {0};
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = origin_open(place->path);
    if (fd < 0) {
        return (struct taken){0, true};
    }
    read_cancel_begin(cancel, fd);
    stk_cache_fill(ahead.cache, place, fd, opened_ns, ask->entry, &outcome);
    if (read_cancel_end(cancel) && outcome.kind == STK_COUNT_FILLS) {
        atomic_fetch_add(&ahead.counters->files, 1);
        atomic_fetch_add(&ahead.counters->bytes, outcome.size);
    }
    bool refused = outcome.kind == STK_COUNT_OPENS && filler_is_want_of_room(outcome.why);
    return (struct taken){outcome.record, !refused};
}

/* Fills a file unless it is there. */
static struct taken take(const char *path, struct read_cancel *cancel)
{
    struct stk_place place;
    struct stk_lookup ask;
    if (path[0] == '\0' || !stk_cache_place(ahead.cache, path, AT_FDCWD, path, &place)) {
        return (struct taken){0, true};
    }
    enum stk_answer answer = stk_cache_lookup(ahead.cache, &place, &ask);
    if (answer == STK_ANSWER_FILL) {
        return fill(&place, &ask, cancel);
    }
    return (struct taken){ask.record, answer == STK_ANSWER_HIT || !filler_is_want_of_room(ask.why)};
}

static void *read_files(void *cancel)
{
    struct ordered_file file;
    priority_lower();
    while (order_queue_take(&file)) {
        struct taken taken = take(file.path, cancel);
        order_queue_report(&file, taken.record, taken.room);
    }
    atomic_fetch_sub(&ahead.alive, 1);
    return cancel;
}

/* ---- the threads ---- */

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

void reading_ahead_begin(struct stk_cache *cache, unsigned jobs, struct ahead_counters *counters)
{
    ahead.cache = cache;
    ahead.counters = counters;
    unsigned wanted = jobs > 0 ? jobs : fill_ahead_jobs(&cache->roots);
    wanted = wanted < MOST_THREADS ? wanted : MOST_THREADS;
    while (ahead.started < wanted && start_thread()) {
    }
}

void reading_ahead_end(void)
{
    while (atomic_load(&ahead.alive) > 0) {
        for (unsigned each = 0; each < ahead.started; each++) {
            read_cancel_cut(&ahead.cancels[each]);
        }
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
}
