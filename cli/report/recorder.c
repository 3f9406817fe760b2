#include "cli/report/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/history/history.h"
#include "cli/history/run_place.h"
#include "cli/os/command.h"
#include "cli/os/detached.h"
#include "cli/os/state_dir.h"
#include "cli/out/json.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/report/page_facts.h"
#include "cli/run/shared_helper.h"
#include "cli/summary/forecast.h"
#include "cli/summary/summary.h"

/* While the run goes on, a record is written whenever the run has lasted half as long again. */
#define FIRST_NS (5 * STK_NS_PER_S)
#define MOST_NS  (600 * STK_NS_PER_S)

#define TITLE_BYTES 400 /* the most bytes of the command in a title */

static struct recorded run;
static const struct request *asked;
static const struct session *session;
static char machine[256];
static int64_t written_ns;
static bool recording;

/* ---- the parts of a record ---- */

static void put_words(FILE *out, char *const *words)
{
    size_t room = TITLE_BYTES;
    for (char *const *word = words; *word != NULL; word++) {
        size_t bytes = strlen(*word) + 1;
        if (bytes > room) {
            fprintf(out, " ...");
            break;
        }
        fprintf(out, " %s", *word);
        room -= bytes;
    }
}

/* Writes "ended with 0 after 12.3 s, 90.1% of 1200 opens from the cache: python train.py". */
static void put_title(FILE *out)
{
    char size[STK_SIZE_TEXT];
    const struct figures *figures = run.figures;
    uint64_t opens = figures->total[STK_COUNT_OPENS];
    if (run.outside) {
        fprintf(out, "ended after %.1f s without stoker run", figures->run_s);
    } else if (run.ended) {
        fprintf(out, "ended with %d after %.1f s", command_exit_status(run.status), figures->run_s);
    } else {
        fprintf(out, "not ended at %.1f s", figures->run_s);
    }
    if (figures->read_bytes > 0) {
        fprintf(out, ", %.1f%% of %s from the cache:", figures_percent(figures),
                size_text(size, figures->read_bytes));
    } else if (opens > 0) {
        fprintf(out, ", %.1f%% of " COUNTED " from the cache:", figures_percent(figures),
                COUNT_OF(opens, "open", "opens"));
    } else {
        fprintf(out, ", nothing opened:");
    }
    put_words(out, run.outside ? asked->spelled : asked->command);
}

static void put_summary(FILE *out)
{
    if (!run.ended) {
        fprintf(out, "stoker: as of second %.1f, before the command had ended:\n",
                run.figures->run_s);
    }
    summary_print(out, run.figures, LINES_ALL);
    forecast_print(out, run.figures);
    shared_helper_print(out);
}

/* Writes the object of --json, with the run, its series, and the facts for the page. */
static void put_json(FILE *out)
{
    char began[32] = "";
    struct tm utc;
    if (gmtime_r(&run.began, &utc) != NULL) {
        strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    struct json json = json_begin(out);
    summary_put_json(&json, run.figures, run.status);
    json_object(&json, "run");
    json_text(&json, "name", run.name);
    json_text(&json, "machine", run.machine);
    json_text(&json, "began", began);
    json_bool(&json, "ended", run.ended);
    json_bool(&json, "outside", run.outside);
    json_end(&json);
    series_write_json(&json, &run.series);
    page_facts_write(&json, &run);
    json_finish(&json);
}

static void put_place(FILE *out)
{
    OWNED char *place = run_place();
    fputs(place, out);
}

static bool compose(struct history_record *record)
{
    static void (*const puts[HISTORY_PARTS])(FILE * out) = {[HISTORY_TITLE] = put_title,
                                                            [HISTORY_SUMMARY] = put_summary,
                                                            [HISTORY_JSON] = put_json,
                                                            [HISTORY_PLACE] = put_place};
    bool good = true;
    for (int part = 0; part < HISTORY_PARTS; part++) {
        FILE *out = open_memstream(&record->text[part], &record->bytes[part]);
        if (out != NULL) {
            puts[part](out);
        }
        good = out != NULL && fclose(out) == 0 && good;
    }
    return good;
}

/* ---- writing ---- */

/* A process of its own writes records: their home may be on a server that does not answer. So
 * neither the sampler nor the end of a run waits long. */
static struct detached writer;

static void write_detached(void *record, int out)
{
    int error = history_write(run.name, record);
    detached_answer(out, &error, sizeof error);
}

/* Waits until the last record is written. Returns 0 or -errno: -ETIMEDOUT if it is not yet. */
static int wait_for_writer(int patience_ms)
{
    int error = 0;
    if (writer.pid == 0) {
        return 0;
    }
    switch (detached_wait(&writer, &error, sizeof error, patience_ms)) {
    case DETACHED_ANSWERED:
        return error;
    case DETACHED_GONE:
        return -ECHILD;
    default:
        return -ETIMEDOUT;
    }
}

/* Begins to write a record. Returns false if it cannot: the last one is still being written, or no
 * process could be started. */
static bool write_record(const struct figures *figures)
{
    struct history_record record = {.bytes = {0}};
    run.figures = figures;
    bool begun = compose(&record) && wait_for_writer(0) != -ETIMEDOUT &&
                 detached_begin(&writer, write_detached, &record);
    history_free(&record);
    return begun;
}

/* ---- when ---- */

void recorder_begin(const struct request *request, const struct session *session_)
{
    asked = request;
    session = session_;
    recording = history_is_wanted(request);
    if (recording) {
        gethostname(machine, sizeof machine - 1);
        run = (struct recorded){.name = history_new_name(),
                                .machine = machine,
                                .began = time(NULL),
                                .began_ns = stk_clock_boottime_ns(),
                                .passes_ns = stk_sys_clock_ns(CLOCK_MONOTONIC)};
    }
}

static int64_t since_ns(void)
{
    return stk_clock_boottime_ns() - run.began_ns;
}

static int64_t next_ns(void)
{
    int64_t pause = written_ns / 2 < MOST_NS ? written_ns / 2 : MOST_NS;
    return pause > FIRST_NS ? written_ns + pause : written_ns + FIRST_NS;
}

void recorder_look(const struct stk_run_counts *counts, const struct epoch_times *times)
{
    struct figures figures;
    int64_t now_ns = since_ns();
    if (!recording) {
        return;
    }
    series_look(&run.series, counts, session->tally, now_ns);
    if (now_ns >= next_ns()) {
        figures_gather(&figures, asked, session, counts, times, (double)now_ns / 1e9);
        write_record(&figures);
        written_ns = now_ns;
    }
}

static int write_last(const struct figures *figures)
{
    int error = wait_for_writer(STATE_PATIENCE_MS);
    if (error == -ETIMEDOUT) {
        return error;
    }
    return write_record(figures) ? wait_for_writer(STATE_PATIENCE_MS) : -ENOMEM;
}

static bool is_worth_a_word(int error)
{
    return error != 0 && error != -ENOENT && error != -ENOTDIR;
}

void recorder_end(const struct figures *figures, int status)
{
    if (!recording) {
        return;
    }
    run.ended = true;
    run.status = status;
    series_end(&run.series, figures->counts, session->tally, (int64_t)(figures->run_s * 1e9));
    int error = write_last(figures);
    if (writer.pid != 0) {
        detached_leave(&writer);
    }
    if (error == -ETIMEDOUT) {
        state_give_up();
    }
    if (is_worth_a_word(error)) {
        say("no record of this run was kept for `stoker report`: %s (--no-history asks for none)",
            error == -ETIMEDOUT ? "the home directory does not answer" : state_reason(error));
    }
}

void recorder_put_outside(const struct figures *figures)
{
    recorder_begin(figures->request, figures->session);
    run.outside = true;
    run.began -= (time_t)figures->run_s;
    recorder_end(figures, 0);
}
