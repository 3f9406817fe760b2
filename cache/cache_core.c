#include "cache/cache_core.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/origin/entry_name.h"

#define JOIN_ATTEMPTS 50
#define JOIN_PAUSE_NS 1000000

/* HOME of the file HOME/runs/NAME; false when the path is none of that kind. */
static bool home_of_run(char home[STK_HOME_BYTES], const char *run)
{
    if (run[0] != '/' || !stk_text_copy(home, STK_HOME_BYTES, run)) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(home, '/');
        if (slash == NULL || slash == home) {
            return false;
        }
        *slash = '\0';
    }
    return stk_home_check(home) == 0;
}

/* Joins the run that STOKER_RUN names. A name from another node or a finished run does not count.
 */
static bool join_named_run(struct stk_cache *cache, char home[STK_HOME_BYTES])
{
    if (!home_of_run(home, cache->options.run) ||
        stk_run_join(&cache->run, cache->options.run) != 0) {
        return false;
    }
    if (stk_catalogue_join(&cache->catalogue, home, false) != 0) {
        return false;
    }
    cache->run.rank = cache->options.rank;
    cache->run_start_ns = stk_run_start_ns(&cache->run);
    return true;
}

/* Returns true if the run is not over and this process can use its catalogue. */
static bool is_within_reach(const char *run)
{
    char home[STK_HOME_BYTES];
    return home_of_run(home, run) && stk_sys_faccessat(AT_FDCWD, run, 0) == 0;
}

/* Returns true if the run's directory belongs to another user. */
static bool is_of_others(const char *run)
{
    char home[STK_HOME_BYTES];
    return run[0] == '/' && !home_of_run(home, run) && stk_home_check(home) == -EPERM;
}

/* Finds the runs to which this process sends its changes. A process that cannot join its own run's
 * catalogue does not learn what the run's other processes change: it asks the origin at each
 * open. */
static void find_others(struct stk_cache *cache, bool in_run)
{
    const char *runs = cache->options.outer_runs;
    char run[STK_HOME_BYTES];
    if (!in_run && cache->options.run[0] == '/') {
        bool reached = stk_notices_reach(&cache->notices, cache->options.run);
        bool asks = reached || is_of_others(cache->options.run);
        cache->options.fresh =
            asks && cache->options.fresh == STK_FRESH_RUN ? STK_FRESH_OPEN : cache->options.fresh;
    }
    while (stk_options_next_path(&runs, run, sizeof run)) {
        if (run[0] == '/' && !is_within_reach(run)) {
            stk_notices_reach(&cache->notices, run);
        }
    }
}

/* Keeps the catalogue until it is cleared. If this process belongs to another user's run, the
 * catalogue is kept only until that run ends; if to a run that is over, until the next one begins
 * or ends. */
static void keep(struct stk_cache *cache)
{
    struct stk_catalogue_header *header = cache->catalogue.header;
    uint32_t not_yet = STK_KEPT_NOT;
    if (is_of_others(cache->options.run)) {
        atomic_store(&header->kept_by_run, stk_run_number(cache->options.run));
        atomic_compare_exchange_strong(&header->kept, &not_yet, STK_KEPT_BY_RUN);
    } else if (cache->options.run[0] != '/') {
        atomic_store(&header->kept, STK_KEPT);
    }
}

/* Joins a catalogue that stays. The last run to end closes and removes a catalogue without the
 * mark. This process marks it first and then looks whether it is closed: one side sees the other.
 */
static int join_kept(struct stk_cache *cache, char home[STK_HOME_BYTES])
{
    int error = stk_home_find(home);
    error = error == 0 ? stk_home_ensure_directory(home, "runs") : error;
    error = error == 0 ? stk_catalogue_join(&cache->catalogue, home, true) : error;
    if (error != 0) {
        return error;
    }
    keep(cache);
    if (atomic_load(&cache->catalogue.header->closed) != 0) {
        stk_catalogue_close(&cache->catalogue);
        return -EAGAIN;
    }
    return 0;
}

/* Outside of any run: joins a catalogue that stays, and the counters of everything that has no run.
 * Waits a little while another process removes the catalogue. */
static void join_outside(struct stk_cache *cache)
{
    char home[STK_HOME_BYTES], path[STK_HOME_BYTES];
    uint32_t nobody = 0;
    cache->run_start_ns = stk_proc_run_start_ns();
    int error = join_kept(cache, home);
    for (int i = 0; i < JOIN_ATTEMPTS && (error == -EAGAIN || error == -ENOENT); i++) {
        stk_sys_futex_wait(&nobody, 0, JOIN_PAUSE_NS);
        error = join_kept(cache, home);
    }
    if (error == 0 && stk_run_path(path, home, STK_RUN_OUTSIDE) &&
        stk_run_open(&cache->run, path) != 0 &&
        stk_run_create(&cache->run, home, STK_RUN_OUTSIDE) != 0) {
        stk_run_open(&cache->run, path); /* another process may have made it in between */
    }
}

/* Attaches one more tier, unless it is attached already by another name. A tier that cannot be
 * attached is left out. */
static void attach_tier(struct stk_cache *cache, struct stk_tier *tier, const char *dir,
                        int64_t budget_bytes)
{
    stk_tier_attach(&cache->catalogue, dir, budget_bytes, tier);
    for (const struct stk_tier *before = cache->tiers; before < tier; before++) {
        if (before->shared == tier->shared) {
            *tier = (struct stk_tier){.shared = NULL};
        }
    }
}

static void attach_tiers(struct stk_cache *cache)
{
    char dir[STK_HOME_BYTES];
    const char *list = cache->options.tiers;
    struct stk_tier *tier = cache->tiers;
    while (cache->catalogue.header != NULL && *list != '\0' && tier < cache->tiers + STK_TIERS) {
        int64_t budget_bytes;
        if (stk_tier_parse(&list, dir, &budget_bytes) == 0) {
            attach_tier(cache, tier, dir, budget_bytes);
        }
        tier += tier->shared != NULL;
    }
}

/* Sets what all tiers have in common in this process. */
static void finish_tiers(struct stk_cache *cache, bool in_run)
{
    for (struct stk_tier *tier = cache->tiers;
         tier < cache->tiers + STK_TIERS && tier->shared != NULL; tier++) {
        tier->guarded = in_run;
        if (tier->dev == cache->run.dev) {
            cache->run.payer = &tier->shared->budget;
        }
    }
}

/* Writes the fixed part of the entries' paths once, for the hits. */
static void name_trees(struct stk_cache *cache, const struct stk_tier *tier)
{
    char path[STK_PATH_BYTES];
    for (unsigned i = 0; i < cache->roots.count; i++) {
        struct stk_root *root = &cache->roots.roots[i];
        if (root->usable) {
            struct stk_root_tree *tree = &root->trees[tier->index];
            tree->length = stk_entry_tree(path, sizeof path, tier->home, root);
            tree->path =
                tree->length > 0 ? stk_roots_keep(&cache->roots, path, tree->length) : NULL;
        }
    }
}

void stk_cache_open(struct stk_cache *cache, const struct stk_options *options,
                    const struct stk_roots *spelling)
{
    char home[STK_HOME_BYTES];
    cache->options = *options;
    cache->roots = *spelling;
    stk_roots_resolve(&cache->roots);
    if (cache->outer.count > 0) {
        stk_roots_resolve(&cache->outer);
    }
    if (!stk_clock_is_known() || stk_clock_boottime_ns() <= 0) {
        return; /* a sandbox forbids the call, which libc makes without the kernel: nothing is sure
                 */
    }
    bool in_run = join_named_run(cache, home);
    if (!in_run) {
        join_outside(cache);
    }
    find_others(cache, in_run);
    attach_tiers(cache);
    finish_tiers(cache, in_run);
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL;
         tier = stk_cache_next_tier(cache, tier)) {
        name_trees(cache, tier);
    }
}
