/* `stoker warm`: fills a cache before a job, or beside one. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/ahead/validator.h"
#include "cli/args/refusal.h"
#include "cli/args/request_env.h"
#include "cli/args/request_parse.h"
#include "cli/fill/fill_ahead.h"
#include "cli/fill/filler.h"
#include "cli/fill/job_cache.h"
#include "cli/fill/progress.h"
#include "cli/os/command.h"
#include "cli/out/say.h"
#include "cli/run/memory_watch.h"
#include "cli/run/session.h"
#include "cli/run/shared_helper.h"
#include "cli/summary/bypass_text.h"
#include "cli/summary/forecast.h"
#include "cli/summary/summary.h"
#include "cli/verbs/forms_ahead.h"
#include "cli/verbs/verbs.h"

static volatile sig_atomic_t ended_by;

static void on_signal(int signal_)
{
    ended_by = signal_;
    fill_ahead_stop();
    forms_stop();
}

/* Catches each signal once: after a second one, the user does not want to wait for files that are
 * being filled. */
static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    struct sigaction before;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        bool ignored = sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!ignored) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

/* ---- what it came to ---- */

static void print_rates(const struct fill_figures *figures)
{
    if (figures->filled == 0 && figures->filled_bytes == 0) {
        say("nothing was filled; " COUNTED " there",
            COUNT_OF(figures->present, "file was", "files were"));
        return;
    }
    char filled[STK_SIZE_TEXT], rate[STK_SIZE_TEXT];
    double seconds = (double)figures->seconds_ns / 1e9;
    double per_s = seconds > 0 ? 1 / seconds : 0;
    say(COUNTED " (%s) filled in %.1f s, %.0f files/s, %s/s; " COUNTED " there",
        COUNT_OF(figures->filled, "file", "files"), size_text(filled, figures->filled_bytes),
        seconds, (double)figures->filled * per_s,
        size_text(rate, (uint64_t)((double)figures->filled_bytes * per_s)),
        COUNT_OF(figures->present, "was", "were"));
}

static void print_line(uint64_t number, const char *one, const char *more)
{
    if (number > 0) {
        fprintf(stderr, "  %" PRIu64 " %s\n", number, plural(number, one, more));
    }
}

/* Prints how many failed, and names the first of them. */
static void print_failed(uint64_t number, const char *words, const char *first)
{
    if (number > 0) {
        say_line(stderr, "  %" PRIu64 " %s%s %s", number, words, number > 1 ? ", the first:" : ":",
                 first);
    }
}

static void print_left(const struct fill_figures *figures)
{
    print_failed(figures->unreadable_directories,
                 plural(figures->unreadable_directories, "directory could not be read",
                        "directories could not be read"),
                 fill_ahead_failed_directory());
    print_failed(
        figures->unreadable,
        plural(figures->unreadable, "file could not be opened", "files could not be opened"),
        filler_failure());
    print_line(figures->vanished, "name led to no file (gone meanwhile, or a link to nothing)",
               "names led to no file (gone meanwhile, or links to nothing)");
    print_line(figures->links, "link led to a directory, which is not followed, or to no file",
               "links led to directories, which are not followed, or to no files");
    bypassed_print(figures->refused);
    if (figures->full) {
        fprintf(stderr, "  Nothing more fitted: " COUNTED " not looked at.\n",
                COUNT_OF(figures->found - figures->done, "file was", "files were"));
    }
}

static void print_end(const struct fill_figures *figures, const struct session *session)
{
    print_rates(figures);
    print_left(figures);
    if (ended_by != 0) {
        say("ended early: the same command goes on from here");
    }
    bool memory = false;
    for (unsigned i = 0; i < session->tier_count; i++) {
        memory = memory || session->tiers[i].shared->memory != 0;
    }
    if (memory) {
        say("what is filled stays in memory until `stoker clear`");
    }
}

static void print_forms(const struct session *session, uint64_t jpegs)
{
    char size[STK_SIZE_TEXT];
    uint64_t kept = 0, bytes = 0;
    if (session->tally != NULL) {
        kept = stk_tally_read(session->tally, STK_TALLY_FORMS);
        bytes = stk_tally_read(session->tally, STK_TALLY_FORM_BYTES);
    }
    say(COUNTED " looked at, %" PRIu64 " decoded %s kept (%s)", COUNT_OF(jpegs, "JPEG", "JPEGs"),
        kept, plural(kept, "copy", "copies"), size_text(size, bytes));
}

static int status_of(const struct fill_figures *figures)
{
    bool nothing = figures->found == 0 && figures->unreadable_directories > 0;
    return ended_by != 0 ? 128 + ended_by : nothing;
}

/* ---- without filling ---- */

/* The tiers that warming would use. */
struct foreseen {
    struct stk_cache *cache;
    struct stk_tier_shared tiers[STK_TIERS];
    unsigned count;
};

/* Finds the budget that a tier has, or would have. Makes nothing. */
static int find_budget(const struct request_tier *tier, struct stk_tier_shared *out)
{
    static struct session session;
    struct stk_tier known;
    int error = stk_tier_foresee(tier->directory, tier->budget_bytes, 0, out);
    bool looked = tier->budget_bytes < 0 && session_look(&session);
    for (unsigned i = 0; looked && i < STK_TIERS; i++) {
        if (stk_tier_by_index(&session.catalogue, i, &known) &&
            strcmp(known.home, out->home) == 0) {
            out->budget = known.shared->budget;
        }
    }
    return error == -ENOSPC ? 0 : error; /* reported once it is known how much would fit */
}

static int foresee(void *context, const struct request_tier *tier, int64_t *budget_bytes)
{
    struct foreseen *foreseen = context;
    struct stk_tier_shared *out = &foreseen->tiers[foreseen->count];
    int error = find_budget(tier, out);
    if (error == 0) {
        *budget_bytes =
            out->budget.blocks > 0 ? out->budget.blocks * STK_BLOCK_BYTES : *budget_bytes;
        foreseen->cache->tiers[foreseen->count].shared = out;
        strcpy(foreseen->cache->tiers[foreseen->count].home, out->home);
        foreseen->count++;
    }
    return error;
}

static void print_foreseen(const struct fill_figures *figures, const struct stk_cache *cache)
{
    char filled[STK_SIZE_TEXT], present[STK_SIZE_TEXT], left[STK_SIZE_TEXT], more[STK_SIZE_TEXT];
    const struct stk_tier *tier = stk_cache_next_tier(cache, NULL);
    int64_t lack = figures->wanted_blocks;
    say("would fill " COUNTED " (%s); %" PRIu64 " (%s) %s there",
        COUNT_OF(figures->filled, "file", "files"), size_text(filled, figures->filled_bytes),
        figures->present, size_text(present, figures->present_bytes),
        plural(figures->present, "is", "are"));
    print_left(figures);
    while (tier != NULL) {
        const struct stk_tier *next = stk_cache_next_tier(cache, tier);
        int64_t room = stk_budget_left(&tier->shared->budget);
        lack -= room;
        const char *end = next != NULL ? "" : lack > 0 ? ": " : ": all of it fits";
        say("%s has room for %s%s%s%s", tier->home,
            size_text(left, (uint64_t)room * STK_BLOCK_BYTES), end,
            next == NULL && lack > 0 ? size_text(more, (uint64_t)lack * STK_BLOCK_BYTES) : "",
            next == NULL && lack > 0 ? " too little: name a larger budget (--tier DIR:SIZE)" : "");
        tier = next;
    }
}

static int warm_dryly(struct request *request)
{
    static struct stk_cache cache;
    static struct stk_roots roots;
    static struct foreseen foreseen = {.cache = &cache};
    struct fill_figures figures;
    struct refusal refusal = refusal_use_tiers(request, foresee, &foreseen);
    if (refusal.error != 0) {
        refusal_explain(&refusal, "", request);
    }
    request_export(request, "");
    stk_options_read(&cache.options);
    stk_roots_spell(&roots, cache.options.paths);
    cache.roots = roots;
    stk_roots_resolve(&cache.roots);
    progress_begin(fill_ahead_read);
    fill_ahead_run(&cache, request);
    progress_end();
    fill_ahead_read(&figures);
    print_foreseen(&figures, &cache);
    return status_of(&figures);
}

/* ---- the verb ---- */

static int warm(const struct request *request, struct session *session)
{
    struct stk_cache *cache;
    struct fill_figures figures;
    shared_helper_begin(request, session);
    request_export(request, session->run.path);
    if (request->forms) {
        forms_prepare(session);
    }
    summary_announce(request, session);
    forecast_announce(request, session);
    shared_helper_announce(request);
    watch_begin(session);
    validator_begin();
    if ((cache = job_cache()) != NULL) {
        progress_begin(fill_ahead_read);
        fill_ahead_run(cache, request);
        progress_end();
    }
    uint64_t jpegs = request->forms ? forms_make(request) : 0;
    validator_end();
    session->given_back_bytes = watch_end();
    shared_helper_end(false);
    fill_ahead_read(&figures);
    print_end(&figures, session);
    shared_helper_print(stderr);
    if (request->forms) {
        print_forms(session, jpegs);
    }
    session_end(session);
    return status_of(&figures);
}

int verb_warm(char **arguments)
{
    static struct session session;
    static struct request request;
    command_outlive_writing();
    request_parse_warm(&request, arguments);
    if (request.dry_run) {
        catch_signals();
        return warm_dryly(&request);
    }
    if (!session_begin(&session, &request)) {
        return STK_EXIT_USAGE;
    }
    catch_signals();
    return warm(&request, &session);
}
