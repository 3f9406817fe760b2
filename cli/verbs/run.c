/* `stoker run`: begins a run, runs the command in it, ends the run, and ends as the command did. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "cli/ahead/ahead_process.h"
#include "cli/args/refusal.h"
#include "cli/args/request_env.h"
#include "cli/args/request_parse.h"
#include "cli/fill/finisher.h"
#include "cli/history/sizes.h"
#include "cli/os/command.h"
#include "cli/os/ending.h"
#include "cli/os/library.h"
#include "cli/os/python.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/report/recorder.h"
#include "cli/run/run_users.h"
#include "cli/run/live_runs.h"
#include "cli/run/memory_watch.h"
#include "cli/run/notices.h"
#include "cli/run/session.h"
#include "cli/run/shared_helper.h"
#include "cli/run/uncovered.h"
#include "cli/summary/automatic.h"
#include "cli/summary/forecast.h"
#include "cli/summary/sampler.h"
#include "cli/summary/summary.h"
#include "cli/verbs/verbs.h"

static void set_python(const struct request *request)
{
    OWNED char *path = request->no_decode && request->no_batches ? NULL : python_path();
    request_set(STK_OPTION_DECODE, path != NULL && !request->no_decode ? "on" : "off");
    request_set(STK_OPTION_BATCHES, path != NULL && !request->no_batches ? "on" : "off");
    if (request->no_torchvision) {
        request_set(STK_OPTION_TORCHVISION, "off");
    }
    if (path != NULL) {
        must_set("PYTHONPATH", path);
    }
}

/* Beneath another run the outer one's variable must not stay. */
static void set_orders(void)
{
    const char *name = ahead_process_prepare();
    if (name != NULL) {
        request_set(STK_OPTION_ORDERS, name);
    } else {
        unsetenv(stk_option_table[STK_OPTION_ORDERS].variable);
    }
}

static void set_environment(const struct request *request, const struct session *session)
{
    OWNED char *library = library_path(session->home);
    OWNED char *preload = library_preload(library);
    request_export(request, session->run.path);
    must_set("LD_PRELOAD", preload);
    if (session->samples.setting != NULL) {
        request_set(STK_OPTION_SAMPLES, session->samples.setting);
    }
    set_python(request);
    set_orders();
}

/* Returns a list of the present variables. Setting a variable later changes none of its strings. */
static char **copy_environment(void)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **copy = must_allocate((count + 1) * sizeof *copy);
    return memcpy(copy, environ, (count + 1) * sizeof *copy);
}

static double seconds_since(int64_t began_ns)
{
    return (double)(stk_clock_boottime_ns() - began_ns) / 1e9;
}

/* Opens the file before the command starts, so that a wrong name is an error at once and not after
 * hours. */
static int open_json(const char *path)
{
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (path != NULL && fd < 0) {
        die("--json %s: %s: name a file that can be written", path, strerror(errno));
    }
    /* not on the number of a closed standard stream: messages would go into the file */
    int high = fd >= 0 && fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
    if (high != fd) {
        close(fd);
    }
    return high;
}

/* Runs the command without a cache. The only figures are those of the command itself. */
static void run_uncached(const struct request *request, struct session *session, int json)
{
    static const struct stk_run_counts counts;
    static const struct epoch_times times;
    struct figures figures;
    int64_t began_ns = stk_clock_boottime_ns();
    if (request->samples_kind == SAMPLES_NAMED) {
        request_set(STK_OPTION_SAMPLES, request->samples);
    }
    set_python(request);
    if (!command_start(request->command)) {
        command_become(request->command);
    }
    int status = command_wait();
    if (json >= 0) {
        figures_gather(&figures, request, session, &counts, &times, seconds_since(began_ns));
        summary_write_json(json, &figures, status);
    }
    command_end_like(status);
}

/* Starts the command in the run. If no further process starts, ends the run, makes the environment
 * what it was, and returns false. */
static bool start_cached(const struct request *request, struct session *session)
{
    char **before = copy_environment();
    set_environment(request, session);
    bool started = command_start(request->command);
    if (!started) {
        int error = errno;
        shared_helper_end(true);
        session_end(session);
        environ = before;
        refusal_report(request, REFUSAL_ALL,
                       "no further process can be started: %s: %sraise the limit (ulimit -u)",
                       strerror(error), refusal_goes_on(request, REFUSAL_ALL));
    } else {
        free(before);
    }
    return started;
}

static void begin_beside(const struct request *request, struct session *session)
{
    ahead_process_begin(request, &session->run);
    uncovered_pass_over(ahead_process_pid());
    notices_begin();
    watch_begin(session);
}

static void end_beside(struct session *session)
{
    struct ahead_outcome outcome = {.filled = {.found = 0}};
    ahead_process_end(&outcome);
    session->ahead = outcome.filled;
    session->finished = outcome.finished;
    session->given_back_bytes = watch_end();
    notices_end();
}

/* Returns the tally of the run in which this one was begun, or NULL. That run has not seen this
 * one's files. */
static struct stk_tally *outer_tally(void)
{
    char path[STK_HOME_BYTES + 300];
    const char *outer = stk_option_value(STK_OPTION_RUN);
    bool named = outer != NULL && outer[0] == '/' && stk_tally_path(path, sizeof path, outer);
    return named ? stk_tally_open(path) : NULL;
}

static void add_to_outer(struct stk_tally *outer, const struct figures *figures)
{
    const struct session *session = figures->session;
    if (outer != NULL) {
        stk_tally_add(outer, STK_TALLY_INNER_RUNS,
                      1 + figures_tallied(session, STK_TALLY_INNER_RUNS));
        stk_tally_add(outer, STK_TALLY_INNER_OPENS,
                      figures->total[STK_COUNT_OPENS] +
                          figures_tallied(session, STK_TALLY_INNER_OPENS));
        stk_tally_add(outer, STK_TALLY_INNER_HITS,
                      figures->total[STK_COUNT_HITS] +
                          figures_tallied(session, STK_TALLY_INNER_HITS));
        stk_tally_close(outer);
    }
}

/* Sets the title that `stoker top` shows. */
static void entitle(struct stk_run *run, char *const *command)
{
    OWNED char *title = must_copy(command[0]);
    for (unsigned i = 1; command[i] != NULL && strlen(title) < STK_RUN_TITLE_BYTES; i++) {
        title = must_append(title, " %s", command[i]);
    }
    stk_run_entitle(run, title);
}

static void announce(const struct request *request, const struct session *session)
{
    if (request->telling != TELLING_LITTLE) {
        summary_announce(request, session);
        forecast_announce(request, session);
        shared_helper_announce(request);
    }
}

static void print_end(const struct figures *figures)
{
    enum telling telling = figures->request->telling;
    summary_print(stderr, figures,
                  telling == TELLING_LITTLE ? 1
                  : telling == TELLING_ALL  ? LINES_ALL
                                            : LINES_MOST);
    if (telling != TELLING_LITTLE) {
        forecast_print(stderr, figures);
        shared_helper_print(stderr);
    }
}

/*
 * Runs the command in the run. Returns only if the command could not be started.
 * The order of the calls matters:
 *
 *   before the start  The shared-tier helper forks while there are no threads, and before
 *                     the environment is set. The job finds the socket for notices and the
 *                     big-file queue, so both are made now.
 *   the start         Sets the environment. No thread may run yet (cli/os/command.h).
 *   beside the job    The process that reads ahead forks first, while there are no threads. It
 *                     and the threads find the cache by that environment.
 *   after the end     The sampler ends first: the recorder takes one caller at a time. Then
 *                     the fillers end, then the helper, which publishes what they filled.
 *                     The run's users are counted last. Now no counter changes any more, and the
 *                     figures are worked out.
 *   the end           The session ends after all output: it removes the counters.
 */
static void run_cached(const struct request *request, struct session *session, int json)
{
    static struct stk_run_counts counts;
    static struct epoch_times times;
    static struct run_users users;
    struct figures figures;
    struct stk_tally *outer = outer_tally();
    shared_helper_begin(request, session);
    announce(request, session);
    entitle(&session->run, request->command);
    notices_open(session);
    finisher_prepare(request, &session->run);
    int64_t kills = ending_memory_kills();
    int64_t began_ns = stk_clock_boottime_ns();
    if (!start_cached(request, session)) {
        return;
    }
    begin_beside(request, session);
    recorder_begin(request, session);
    sampler_begin(request, &session->run, session->tally, recorder_look);
    int status = command_wait();
    double seconds = seconds_since(began_ns);
    sampler_end(&times);
    end_beside(session);
    shared_helper_end(WIFSIGNALED(status)); /* after a signal the user does not want to wait */
    run_users_end(session, request->keep, &users);
    stk_run_read(&session->run, &counts);
    figures_gather(&figures, request, session, &counts, &times, seconds);
    figures.status = status;
    figures.memory_kills = ending_memory_kills_since(kills);
    figures.run_users = &users;
    figures.outlived = figures.total[STK_COUNT_OPENS] == 0 && live_has_processes(session->run.path);
    add_to_outer(outer, &figures);
    print_end(&figures);
    if (json >= 0) {
        summary_write_json(json, &figures, status);
    }
    recorder_end(&figures, status);
    sizes_remember(request, &counts);
    session_end(session);
    command_end_like(status);
}

int verb_run(char **arguments)
{
    static struct session session;
    static struct request request;
    command_outlive_writing();
    request_parse(&request, arguments, true);
    command_check(request.command[0]);
    int json = open_json(request.json);
    automatic_decide(&request);
    if (!request.no_tier && session_begin(&session, &request)) {
        run_cached(&request, &session, json);
    }
    run_uncached(&request, &session, json);
    return 0;
}
