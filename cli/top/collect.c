#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "cli/out/say.h"
#include "cli/run/live_runs.h"
#include "cli/top/top.h"

/* ---- tiers ---- */

/* Copies the tiers' present state. */
static void copy_tiers(struct stk_catalogue *catalogue, struct session *to,
                       struct stk_tier_shared shared[STK_TIERS])
{
    for (unsigned i = 0; i < STK_TIERS; i++) {
        struct stk_tier *tier = &to->tiers[to->tier_count];
        if (stk_tier_by_index(catalogue, i, tier)) {
            memcpy(&shared[to->tier_count], tier->shared, sizeof *shared);
            tier->shared = &shared[to->tier_count++];
        } else {
            *tier = (struct stk_tier){.shared = NULL};
        }
    }
}

/* ---- runs ---- */

static void free_run(struct top_run *run)
{
    if (run->session.tally != NULL) {
        stk_tally_close(run->session.tally);
    }
    free(run);
}

static void gather(struct top_run *run, struct stk_catalogue *catalogue, int64_t now_ns)
{
    static const struct epoch_times times;
    static const struct request request;
    double lasted_s = (double)(now_ns - run->view.start_ns) / (double)STK_NS_PER_S;
    copy_tiers(catalogue, &run->session, run->shared);
    figures_gather(&run->figures, &request, &run->session, &run->view.counts, &times, lasted_s);
}

/* Inserts by the time of their beginning: a directory's order is arbitrary. */
static void insert(struct top_look *look, struct top_run *run)
{
    unsigned at = look->count++;
    for (; at > 0 && look->runs[at - 1]->view.start_ns > run->view.start_ns; at--) {
        look->runs[at] = look->runs[at - 1];
    }
    look->runs[at] = run;
}

static void add_run(struct top_look *look, const char *path, enum top_state state)
{
    char tally[STK_HOME_BYTES + 300];
    struct top_run *run = must_allocate(sizeof *run);
    bool seen = stk_run_look(path, &run->view) == 0;
    bool idle = state == TOP_OUTSIDE && run->view.counts.epochs[0][STK_COUNT_OPENS] == 0;
    if (!seen || idle || look->count == TOP_MOST_RUNS) {
        look->more += seen && !idle;
        free(run);
        return;
    }
    snprintf(run->name, sizeof run->name, "%s", stk_path_leaf(path));
    run->state = state;
    if (stk_tally_path(tally, sizeof tally, path)) {
        run->session.tally = stk_tally_look(tally);
    }
    gather(run, &look->session.catalogue, look->at_ns);
    insert(look, run);
}

static void add_live(const char *path, bool orphaned, void *context)
{
    add_run(context, path, orphaned ? TOP_ORPHANED : TOP_LIVE);
}

static void add_outside(struct top_look *look)
{
    char path[STK_HOME_BYTES];
    if (stk_run_path(path, look->session.home, STK_RUN_OUTSIDE)) {
        add_run(look, path, TOP_OUTSIDE);
    }
}

/* ---- runs that have ended ---- */

static struct top_run *find(const struct top_look *look, const char *name)
{
    for (unsigned i = 0; look != NULL && i < look->count; i++) {
        if (strcmp(look->runs[i]->name, name) == 0) {
            return look->runs[i];
        }
    }
    return NULL;
}

static bool has_new(const struct top_look *look, const struct top_look *before)
{
    for (unsigned i = 0; i < look->count; i++) {
        if (find(before, look->runs[i]->name) == NULL) {
            return true;
        }
    }
    return false;
}

static void take_over(struct top_look *look, struct top_look *before)
{
    unsigned kept = 0, count = before->count;
    for (unsigned i = 0; i < count; i++) {
        struct top_run *run = before->runs[i];
        if (find(look, run->name) != NULL || look->count == TOP_MOST_RUNS) {
            before->runs[kept++] = run;
        } else {
            run->state = TOP_ENDED;
            look->runs[look->count++] = run;
        }
    }
    before->count = kept;
}

/* ---- a look ---- */

struct top_look *top_look(struct top_look *before)
{
    struct top_look *look = must_allocate(sizeof *look);
    look->at_ns = stk_clock_boottime_ns();
    if (session_look(&look->session)) {
        copy_tiers(&look->session.catalogue, &look->session, look->shared);
        live_each(look->session.home, add_live, look);
        add_outside(look);
        stk_catalogue_close(&look->session.catalogue);
    }
    look->living = look->count + look->more;
    if (before != NULL && !has_new(look, before)) {
        take_over(look, before);
    }
    return look;
}

void top_forget(struct top_look *look)
{
    for (unsigned i = 0; look != NULL && i < look->count; i++) {
        free_run(look->runs[i]);
    }
    free(look);
}

const char *top_state_name(enum top_state state)
{
    static const char *const names[] = {[TOP_LIVE] = "live",
                                        [TOP_ORPHANED] = "orphaned",
                                        [TOP_OUTSIDE] = "outside",
                                        [TOP_ENDED] = "ended"};
    return names[state];
}

/* ---- epochs ---- */

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* Works out the last one of several epochs that are counted together. */
static void take_last(struct stk_tally_pass *pass, const struct stk_tally_pass *first,
                      unsigned rounds)
{
    uint64_t each = pass->expected > 0 ? pass->expected / rounds : first->batches;
    pass->expected = pass->expected > 0 ? each : 0;
    pass->batches = since(pass->batches, (rounds - 1) * each);
    pass->samples = since(pass->samples, (rounds - 1) * first->samples);
    pass->workers /= rounds;
}

unsigned top_epoch(const struct top_run *run, struct stk_tally_pass *out)
{
    struct stk_tally_pass first;
    const struct figures *figures = &run->figures;
    if (!figures->by_passes) {
        return 0;
    }
    stk_tally_read_pass(run->session.tally, figures->loader, 0, &first);
    stk_tally_read_pass(run->session.tally, figures->loader, figures->passes - 1, out);
    if (figures->epochs > figures->passes) {
        take_last(out, &first, figures->epochs - figures->passes + 1);
    }
    return figures->epochs;
}

/* ---- between two looks ---- */

static double total_since(const struct top_run *run, const struct top_run *before,
                          enum stk_count kind)
{
    return (double)since(run->figures.total[kind], before->figures.total[kind]);
}

static double blocks_since(const struct top_run *run, const struct top_run *before,
                           enum stk_block_count kind)
{
    return (double)since(run->view.counts.blocks[kind], before->view.counts.blocks[kind]);
}

static void pace_loaders(const struct top_run *run, const struct top_run *before, double seconds,
                         struct top_pace *out)
{
    struct stk_tally_pass now, then;
    stk_tally_read_all_passes(run->session.tally, &now);
    stk_tally_read_all_passes(before->session.tally, &then);
    double lasted_ns = (double)since(now.lasted_ns, then.lasted_ns);
    double waited_ns = (double)since(now.waited_ns, then.waited_ns);
    out->starved = percent(waited_ns, lasted_ns) / 100;
    out->samples = (double)since(now.samples, then.samples) / seconds;
    out->batches = (double)since(now.batches, then.batches) / seconds;
    out->images = (double)since(figures_tallied(&run->session, STK_TALLY_IMAGES),
                                figures_tallied(&before->session, STK_TALLY_IMAGES)) /
                  seconds;
}

void top_pace(const struct top_run *run, const struct top_look *before, struct top_pace *out)
{
    const struct top_run *then = find(before, run->name);
    *out = (struct top_pace){.known = false};
    if (then == NULL || run->state == TOP_ENDED || run->figures.run_s <= then->figures.run_s) {
        return;
    }
    double seconds = run->figures.run_s - then->figures.run_s;
    out->known = true;
    out->opens = total_since(run, then, STK_COUNT_OPENS) / seconds;
    out->hits = total_since(run, then, STK_COUNT_HITS) / seconds;
    out->fills = total_since(run, then, STK_COUNT_FILLS) / seconds;
    out->bytes_cache = (total_since(run, then, STK_COUNT_BYTES_CACHE) +
                        blocks_since(run, then, STK_BLOCK_BYTES_CACHE)) /
                       seconds;
    out->bytes_origin = (total_since(run, then, STK_COUNT_BYTES_ORIGIN) +
                         blocks_since(run, then, STK_BLOCK_BYTES_ORIGIN)) /
                        seconds;
    out->waiting = total_since(run, then, STK_COUNT_WAIT_NS) / 1e9 / seconds;
    pace_loaders(run, then, seconds, out);
}
