#include "cli/ahead/ahead_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "cli/ahead/trees/begun_shards.h"
#include "cli/ahead/orders/kept_samples.h"
#include "cli/ahead/orders/order_queue.h"
#include "cli/ahead/orders/reading_ahead.h"
#include "cli/ahead/orders/sample_files.h"
#include "cli/ahead/trees/scan_ahead.h"
#include "cli/ahead/trees/tree_evidence.h"
#include "cli/ahead/validator.h"
#include "cli/fill/fill_ahead.h"
#include "cli/fill/job_cache.h"
#include "cli/history/history.h"
#include "cli/os/detached.h"
#include "cli/os/thread.h"

#define PATIENCE_NS (2 * STK_NS_PER_S) /* until the run ends without the process */

static struct {
    int socket; /* by which the process hears orders, and that it is to end; -1: there is none */
    pid_t pid;
    const struct request *request;
    struct ahead_outcome *outcome; /* in memory of both processes, or NULL */
} ahead = {.socket = -1};

/* ---- the process ---- */

/* Joins the job's cache. To find out about the roots, it asks the origin, so no other thread waits
 * for it. */
static void *start_threads(void *context)
{
    struct stk_cache *cache = job_cache();
    if (cache != NULL) {
        validator_begin();
        finisher_begin(ahead.request);
    }
    if (cache != NULL && cache->options.reads_ahead) {
        scan_ahead_begin(cache);
        reading_ahead_begin(cache, ahead.request->jobs);
    }
    if (cache != NULL && cache->options.reads_ahead && !ahead.request->warm) {
        tree_evidence_begin(cache);
        begun_shards_begin(cache);
    }
    if (cache != NULL && ahead.request->warm) {
        fill_ahead_beside(cache, ahead.request, order_queue_has_next);
    }
    return context;
}

/* The home may be on a server that does not answer. */
static void *open_kept(void *context)
{
    kept_samples_open();
    return context;
}

static void note_outcome(void)
{
    if (ahead.outcome != NULL) {
        fill_ahead_read(&ahead.outcome->filled);
        finisher_read(&ahead.outcome->finished);
    }
}

/* Notes the outcome before and after it waits for threads. The command leaves it behind if that
 * takes too long. The exit ends the threads that are left. */
static void work(struct stk_run *run)
{
    if (history_is_wanted(ahead.request)) {
        thread_start_detached(open_kept, NULL);
    }
    if (thread_start_detached(start_threads, NULL)) {
        order_queue_listen(run);
        validator_end();
        fill_ahead_stop();
        note_outcome();
        reading_ahead_end();
        fill_ahead_end();
        finisher_end();
        note_outcome();
        sample_files_keep();
    }
}

/* ---- in the command ---- */

const char *ahead_process_prepare(void)
{
    struct stk_options options;
    stk_options_read(&options);
    ahead.socket = order_queue_open();
    return ahead.socket >= 0 && options.reads_ahead ? order_queue_name() : NULL;
}

static struct ahead_outcome *share_outcome(void)
{
    void *shared = mmap(NULL, sizeof *ahead.outcome, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared != MAP_FAILED ? shared : NULL;
}

void ahead_process_begin(const struct request *request, struct stk_run *run)
{
    pid_t command = getpid();
    ahead.request = request;
    ahead.outcome = share_outcome();
    ahead.pid = ahead.socket >= 0 ? fork() : -1;
    if (ahead.pid == 0) {
        detached_stand_alone(command, ahead.socket);
        work(run);
        _exit(0);
    }
    if (ahead.pid < 0) {
        finisher_close();
    }
}

pid_t ahead_process_pid(void)
{
    return ahead.pid > 0 ? ahead.pid : 0;
}

/* Leaves the process behind if it waits for an origin. */
static void wait_for_end(void)
{
    int64_t began_ns = stk_clock_boottime_ns();
    while (stk_clock_boottime_ns() - began_ns < PATIENCE_NS) {
        if (waitpid(ahead.pid, NULL, WNOHANG) != 0) {
            return;
        }
        thread_pause_since(began_ns);
    }
    kill(ahead.pid, SIGKILL);
    waitpid(ahead.pid, NULL, WNOHANG);
}

void ahead_process_end(struct ahead_outcome *out)
{
    if (ahead.socket >= 0) {
        order_queue_close();
    }
    if (ahead.pid > 0) {
        wait_for_end();
    }
    if (ahead.outcome != NULL) {
        *out = *ahead.outcome;
    }
    finisher_close();
}
