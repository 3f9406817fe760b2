#include "cli/summary/sampler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/fill/progress.h"
#include "cli/os/thread.h"
#include "cli/run/uncovered.h"

#define LOOK_NS  (STK_NS_PER_S / 5)
#define QUIET_NS (2 * STK_NS_PER_S) /* a job that ends by then needs no line */

static const struct request *asked;
static const struct stk_run *looked_at;
static const struct stk_tally *tallied;
static sampler_call *each_sample;
static struct epoch_times figures;
static struct stk_run_counts before;
static pthread_t looker;
static bool looking;
static _Atomic uint32_t over;

static void note(const struct stk_run_counts *now, int64_t last_ns, int64_t now_ns)
{
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        uint64_t opens = now->epochs[epoch][STK_COUNT_OPENS];
        if (opens > before.epochs[epoch][STK_COUNT_OPENS]) {
            figures.begun_ns[epoch] =
                figures.begun_ns[epoch] != 0 ? figures.begun_ns[epoch] : last_ns;
            figures.ended_ns[epoch] = now_ns;
        }
    }
    before = *now;
}

/* ---- the line ---- */

/* Reads how many batches the first epoch has, if that is known, and how many it has given. */
static void read_pass(uint64_t *expected, uint64_t *given)
{
    struct stk_tally_pass pass = {0};
    for (unsigned i = 0; tallied != NULL && i < STK_TALLY_LOADERS; i++) {
        struct stk_tally_pass other;
        stk_tally_read_pass(tallied, i, 0, &other);
        pass = other.expected > pass.expected ? other : pass;
    }
    *expected = pass.expected;
    *given = pass.batches;
}

/* Reads the figures of the line. The total of files is unknown: workers are ahead of the batches
 * that the job was given. */
static void read_figures(struct fill_figures *out)
{
    static struct stk_run_counts now;
    stk_run_read(looked_at, &now);
    const uint64_t *first = now.epochs[0];
    *out = (struct fill_figures){.done = stk_run_files(&now), .seconds_ns = 1};
    out->filled_bytes = first[STK_COUNT_BYTES_ORIGIN] + first[STK_COUNT_BYTES_CACHE];
    read_pass(&out->all_batches, &out->batches);
}

/* Returns true during the first epoch, but not at its very start. */
static bool wants_line(const struct stk_run_counts *now, int64_t began_ns, int64_t now_ns)
{
    uint64_t first = stk_run_files(now), second = now->epochs[1][STK_COUNT_OPENS];
    struct stk_tally_pass later = {0};
    if (tallied != NULL) {
        stk_tally_read_pass(tallied, 0, 1, &later);
    }
    return now_ns - began_ns > QUIET_NS && first > 1 && second < first / 2 && later.begins == 0;
}

static void show(const struct stk_run_counts *now, int64_t began_ns, int64_t now_ns)
{
    static bool shown;
    bool wanted = wants_line(now, began_ns, now_ns);
    if (wanted && !shown) {
        progress_begin_beside(read_figures);
    } else if (shown && !wanted) {
        progress_end();
    }
    shown = wanted;
}

/* ---- the thread ---- */

static void *look(void *context)
{
    static struct stk_run_counts now;
    int64_t began_ns = stk_clock_boottime_ns(), last_ns = began_ns;
    bool ends = false;
    while (!ends) {
        ends = atomic_load(&over) != 0;
        int64_t now_ns = stk_clock_boottime_ns();
        stk_run_read(looked_at, &now);
        note(&now, last_ns, now_ns);
        each_sample(&now, &figures);
        last_ns = now_ns;
        if (!ends) {
            show(&now, began_ns, now_ns);
            uncovered_look(asked, now.epochs[0][STK_COUNT_OPENS] > 0, now_ns - began_ns);
            stk_sys_futex_wait(&over, 0, LOOK_NS);
        }
    }
    return context;
}

void sampler_begin(const struct request *request, const struct stk_run *run,
                   const struct stk_tally *tally, sampler_call *each)
{
    asked = request;
    each_sample = each;
    looked_at = run;
    tallied = tally;
    looking = thread_start(&looker, look, NULL);
}

void sampler_end(struct epoch_times *out)
{
    if (looking) {
        atomic_store(&over, 1);
        stk_sys_futex_wake_all(&over);
        pthread_join(looker, NULL);
        progress_end();
        looking = false;
    }
    *out = figures;
}
