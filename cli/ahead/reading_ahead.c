#include "cli/ahead/reading_ahead.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "cli/ahead/order_queue.h"
#include "cli/fill/fill_ahead.h"
#include "cli/fill/job_cache.h"
#include "cli/fill/open_origin.h"
#include "cli/fill/read_cancel.h"
#include "cli/os/detached.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"

#define MOST_THREADS 64
#define STEP_NS      (STK_NS_PER_S / 100)
#define PATIENCE     200 /* steps until the run ends without the process */

struct shared_figures {
    _Atomic uint64_t files, bytes;
};

static struct {
    struct stk_cache cache; /* as the job's, but without a run, which counts its job's opens */
    struct read_cancel cancels[MOST_THREADS];
    unsigned jobs; /* that the user wants, or 0 */
    unsigned wanted, started;
    atomic_uint alive; /* threads to wait for */
    int socket;        /* -1: nothing is read ahead */
    pid_t pid;
    struct shared_figures *shared; /* by the command and the process that reads */
} ahead = {.socket = -1};

/* ---- one file ---- */

/* The outcome of one file. */
struct taken {
    uint32_t record; /* 0: unknown */
    bool room;       /* false: nothing has room for it */
};

static bool is_want_of_room(enum stk_bypass why)
{
    return why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY || why == STK_BYPASS_TIER ||
           why == STK_BYPASS_CATALOGUE;
}

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
    stk_cache_fill(&ahead.cache, place, fd, opened_ns, ask->entry, &outcome);
    if (read_cancel_end(cancel) && outcome.kind == STK_COUNT_FILLS) {
        atomic_fetch_add(&ahead.shared->files, 1);
        atomic_fetch_add(&ahead.shared->bytes, outcome.size);
    }
    bool refused = outcome.kind == STK_COUNT_OPENS && is_want_of_room(outcome.why);
    return (struct taken){outcome.record, !refused};
}

/* Fills a file unless it is there. */
static struct taken take(const char *path, struct read_cancel *cancel)
{
    struct stk_place place;
    struct stk_lookup ask;
    if (path[0] == '\0' || !stk_cache_place(&ahead.cache, path, AT_FDCWD, path, &place)) {
        return (struct taken){0, true};
    }
    enum stk_answer answer = stk_cache_lookup(&ahead.cache, &place, &ask);
    if (answer == STK_ANSWER_FILL) {
        return fill(&place, &ask, cancel);
    }
    return (struct taken){ask.record, answer == STK_ANSWER_HIT || !is_want_of_room(ask.why)};
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

/* ---- the process ---- */

static void start_thread(void)
{
    struct read_cancel *cancel = &ahead.cancels[ahead.started];
    read_cancel_set_up(cancel);
    atomic_fetch_add(&ahead.alive, 1);
    if (thread_start_detached(read_files, cancel)) {
        ahead.started++;
    } else {
        atomic_fetch_sub(&ahead.alive, 1);
        ahead.wanted = ahead.started;
    }
}

/* Finds out how many threads suit the origin. That asks the origin, so no other thread waits for
 * it. */
static void *start_threads(void *context)
{
    const struct stk_cache *joined = job_cache();
    if (joined != NULL) {
        ahead.cache = *joined;
        ahead.cache.run.file = NULL;
        ahead.wanted = ahead.jobs > 0 ? ahead.jobs : fill_ahead_jobs(&joined->roots);
        ahead.wanted = ahead.wanted < MOST_THREADS ? ahead.wanted : MOST_THREADS;
        while (ahead.started < ahead.wanted) {
            start_thread();
        }
    }
    atomic_fetch_sub(&ahead.alive, 1);
    return context;
}

static void end_threads(void)
{
    while (atomic_load(&ahead.alive) > 0) {
        for (unsigned each = 0; each < ahead.started; each++) {
            read_cancel_cut(&ahead.cancels[each]);
        }
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
}

static void work(struct stk_run *run)
{
    atomic_fetch_add(&ahead.alive, 1);
    if (thread_start_detached(start_threads, NULL)) {
        order_queue_listen(run);
        end_threads();
    }
}

/* ---- in the command ---- */

const char *reading_ahead_prepare(void)
{
    struct stk_options options;
    stk_options_read(&options);
    ahead.socket = options.reads_ahead ? order_queue_open() : -1;
    return ahead.socket >= 0 ? order_queue_name() : NULL;
}

static bool share_figures(void)
{
    void *shared =
        mmap(NULL, sizeof *ahead.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ahead.shared = shared != MAP_FAILED ? shared : NULL;
    return ahead.shared != NULL;
}

void reading_ahead_begin(const struct request *request, struct stk_run *run)
{
    pid_t command = getpid();
    if (ahead.socket < 0 || !share_figures()) {
        return;
    }
    ahead.jobs = request->jobs;
    ahead.pid = fork();
    if (ahead.pid == 0) {
        detached_stand_alone(command, ahead.socket);
        work(run);
        _exit(0);
    }
}

/* Leaves the process behind if it waits for an origin. */
static void wait_for_end(void)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (waitpid(ahead.pid, NULL, WNOHANG) != 0) {
            return;
        }
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    kill(ahead.pid, SIGKILL);
    waitpid(ahead.pid, NULL, WNOHANG);
}

void reading_ahead_end(struct ahead_figures *out)
{
    if (ahead.socket >= 0) {
        order_queue_close();
    }
    if (ahead.pid > 0) {
        wait_for_end();
    }
    if (ahead.shared != NULL) {
        *out = (struct ahead_figures){atomic_load(&ahead.shared->files),
                                      atomic_load(&ahead.shared->bytes)};
    }
}
