/* `stoker env`: the exports for job scripts that do without the command; the figures of such jobs;
 * and the options table as documentation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "cache/tier/tier.h"
#include "cli/args/refusal.h"
#include "cli/args/request_env.h"
#include "cli/args/request_parse.h"
#include "cli/args/request_tiers.h"
#include "cli/os/library.h"
#include "cli/os/python.h"
#include "cli/out/sanitise.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/out/shell_quote.h"
#include "cli/report/recorder.h"
#include "cli/run/removal.h"
#include "cli/summary/summary.h"
#include "cli/tiers/known_tiers.h"
#include "cli/verbs/verbs.h"

/* Prints a quoted value: unchanged for a shell, and for a terminal without control characters. */
static void print_quoted(const char *value)
{
    OWNED char *quoted = shell_quote_always(value);
    fputs(isatty(STDOUT_FILENO) ? sanitise_line(quoted) : quoted, stdout);
}

static void print_export(const char *name, const char *value)
{
    printf("export %s=", name);
    print_quoted(value);
    putchar('\n');
}

static int print_markdown(void)
{
    printf(
        "# Options\n\n"
        "Generated from the one options table, `base/options.def`, by `stoker env --markdown`.\n"
        "A flag of `stoker run` and `stoker env` wins over the variable; `stoker run` sets the\n"
        "variables for everything that it starts.\n\n"
        "`/etc/stoker.conf` and `~/.config/stoker.conf` hold options that are typed once, one\n"
        "`NAME=VALUE` a line. The command reads them: the environment goes first, then the user's\n"
        "file, then the machine's. A job with `LD_PRELOAD` alone has only its environment.\n");
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        printf("\n## %s\n\n", row->variable);
        printf("`%s=%s`", row->variable, row->argument);
        if (row->flag != NULL) {
            printf(", flag `%s`", row->flag);
        }
        printf(", default %s%s%s\n\n%s\n", *row->otherwise ? "`" : "",
               *row->otherwise ? row->otherwise : "none", *row->otherwise ? "`" : "", row->meaning);
    }
    return 0;
}

/* Leaves a tier out whose server does not answer, or fails: it may be this node's alone. */
static void leave_out_failing(struct request *request)
{
    int error = request->shared_error;
    const char *reason = error == -ETIMEDOUT ? "its server does not answer" : strerror(-error);
    if (error == 0) {
        return;
    }
    if (request->require_cache) {
        die("--tier %s: %s: name another", request->shared.directory, reason);
    }
    say("--tier %s: %s: going on without it", request->shared.directory, reason);
    request->shared.directory[0] = '\0';
}

/* Refuses what only the command can do. */
static void refuse_idle(const struct request *request)
{
    const char *idle = request->json != NULL ? "--json"
                       : request->keep       ? "--keep"
                       : request->warm       ? "--warm"
                       : request->no_history ? "--no-history"
                       : request->automatic  ? "--auto"
                                             : NULL;
    if (idle != NULL) {
        die("%s has no meaning without `stoker run`", idle);
    }
    if (request->shared.directory[0] != '\0') {
        die("--tier %s, on a file system that may be shared, has no meaning without `stoker run` "
            "or `stoker warm`: name local ones only",
            request->shared.directory);
    }
    if (request->samples_bytes >= 0) {
        die("--decoded %s has no meaning without `stoker run`, which grants it: name a directory "
            "of your own, --decoded DIR:SIZE",
            request->samples);
    }
}

/* Prints what Pythons need, as `stoker run` sets it: decoding, and batches of torch's
 * DataLoader. */
static void print_python(const struct request *request)
{
    OWNED char *site = python_site();
    bool decodes = site != NULL && !request->no_decode;
    bool batches = site != NULL && !request->no_batches;
    print_export(stk_option_table[STK_OPTION_DECODE].variable, decodes ? "on" : "off");
    print_export(stk_option_table[STK_OPTION_BATCHES].variable, batches ? "on" : "off");
    if (request->no_torchvision) {
        print_export(stk_option_table[STK_OPTION_TORCHVISION].variable, "off");
    }
    if (decodes || batches) {
        printf("export PYTHONPATH=");
        print_quoted(site);
        printf("\"${PYTHONPATH:+:$PYTHONPATH}\"\n");
    } else if (site == NULL) {
        printf(
            "# The Python package is not installed beside this command: images are not decoded.\n");
    }
}

/* ---- what was done without the command ---- */

/* Makes a request from the environment, as it is spelled there, without a command. */
static void request_outside(struct request *request)
{
    static struct stk_roots roots;
    static char *no_command[] = {NULL};
    const char *paths = stk_option_value(STK_OPTION_PATHS);
    stk_roots_spell(&roots, paths != NULL ? paths : "");
    for (unsigned i = 0; i < roots.count && i + 1 < STK_REQUEST_PATHS; i++) {
        request->spelled[request->count++] = must_copy(roots.roots[i].prefix);
    }
    request->command = no_command;
}

/* Says why nothing is summed up: what this shell lacks, or that nothing was opened. */
static void say_nothing_to_sum_up(void)
{
    const char *preload = getenv("LD_PRELOAD");
    const char *paths = stk_option_value(STK_OPTION_PATHS);
    if (stk_option_value(STK_OPTION_RUN) != NULL) {
        say("nothing to sum up: this shell is part of a `stoker run`, which sums up at its end");
    } else if (paths == NULL) {
        say("nothing to sum up: STOKER_PATHS is not set here. Type eval \"$(stoker env --path "
            "DIR)\" before the job, in the job's shell");
    } else {
        bool loaded = preload != NULL && strstr(preload, "libstoker.so") != NULL;
        say("nothing to sum up: no file below %s was opened since the last summary%s", paths,
            loaded ? "" : " (LD_PRELOAD does not name libstoker.so here)");
    }
}

/* Prints the figures of programs outside of runs, since the last time. The counters begin anew. */
static int end(void)
{
    static struct session session;
    static struct stk_run_counts counts;
    static const struct epoch_times times;
    static struct request request;
    struct figures figures;
    char path[STK_HOME_BYTES];
    bool there = session_look(&session) && stk_run_path(path, session.home, STK_RUN_OUTSIDE) &&
                 stk_run_open(&session.run, path) == 0;
    stk_run_read(&session.run, &counts);
    if (!there || counts.epochs[0][STK_COUNT_OPENS] == 0) {
        say_nothing_to_sum_up();
        return 0;
    }
    double since_s =
        (double)(stk_clock_boottime_ns() - stk_run_start_ns(&session.run)) / (double)STK_NS_PER_S;
    say("without `stoker run`, of all that this user has run in %.0f s (images are not counted):",
        since_s);
    request_outside(&request);
    figures_gather(&figures, &request, &session, &counts, &times, since_s);
    summary_print(stderr, &figures, LINES_MOST);
    recorder_put_outside(&figures);
    unlink(path);
    return 0;
}

/* ---- exports ---- */

static void print_given(enum stk_option option, const char *value)
{
    if (value != NULL) {
        print_export(stk_option_table[option].variable, value);
    }
}

/* Computes the budget that a process of the job will find in a tier. */
static int foresee(void *context, const struct request_tier *tier, int64_t *budget_bytes)
{
    struct stk_tier_shared foreseen;
    (void)context;
    int error = stk_tier_foresee(tier->directory, tier->budget_bytes, STK_NS_PER_S / 50, &foreseen);
    if (error == 0) {
        *budget_bytes = foreseen.budget.blocks * STK_BLOCK_BYTES;
    }
    return error;
}

/* Returns true if there will be a cache, with the catalogue's home in `home`. Otherwise says why
 * there is none. */
static bool have_cache(struct request *request, char home[STK_HOME_BYTES])
{
    if (request->no_tier) {
        return false;
    }
    if (stk_home_find_existing(home) == 0) { /* a new one has nothing to sweep, and may go again */
        removal_try_sweep(home);
    }
    struct refusal refusal = {.error = stk_home_find(home)};
    if (refusal.error == 0) {
        refusal = refusal_use_tiers(request, foresee, request);
    }
    if (refusal.error != 0) {
        rmdir(home); /* if it was created for this look */
        refusal_explain(&refusal, home, request);
    }
    return refusal.error == 0;
}

static void remember_tiers(const struct request *request)
{
    char home[STK_HOME_BYTES];
    for (unsigned i = 0; i < request->tier_count; i++) {
        const struct request_tier *tier = &request->tiers[i];
        if (tier->named && tier->error == 0 && !tier->left_out &&
            stk_home_path(home, tier->directory)) {
            tiers_remember(home);
        }
    }
}

static void print_cached(const struct request *request, const char *home)
{
    OWNED char *library = library_path(home);
    OWNED char *paths = request_paths(request);
    OWNED char *tiers = request_tiers(request);
    print_export(stk_option_table[STK_OPTION_PATHS].variable, paths);
    print_export(stk_option_table[STK_OPTION_TIERS].variable, tiers);
    print_given(STK_OPTION_FRESH, request->fresh);
    print_given(STK_OPTION_SAMPLES, request->samples);
    print_python(request);
    printf("export LD_PRELOAD=\"${LD_PRELOAD:+$LD_PRELOAD:}\"");
    print_quoted(library);
    printf("\n# The cache stays when the job ends. In a job script, this says what was served, and "
           "ends\n"
           "# the cache with the job:\n"
           "#   trap 'stoker env --end; stoker clear' EXIT\n");
    if (request->samples == NULL) {
        printf("# Decoded images are kept with --decoded DIR:SIZE, or by `stoker run`.\n");
    }
}

/* Prints the exports of a job without a cache: its images are decoded all the same. */
static void print_uncached(const struct request *request)
{
    printf("# Nothing is cached on this node.\n");
    print_given(STK_OPTION_SAMPLES, request->samples);
    print_python(request);
}

int verb_env(char **arguments)
{
    static struct request request;
    char home[STK_HOME_BYTES];
    if (arguments[0] != NULL && strcmp(arguments[0], "--markdown") == 0 && arguments[1] == NULL) {
        return print_markdown();
    }
    if (arguments[0] != NULL && strcmp(arguments[0], "--end") == 0 && arguments[1] == NULL) {
        return end();
    }
    request_parse(&request, arguments, false);
    leave_out_failing(&request);
    refuse_idle(&request);
    if (have_cache(&request, home)) {
        remember_tiers(&request);
        print_cached(&request, home);
    } else {
        print_uncached(&request);
    }
    return 0;
}
