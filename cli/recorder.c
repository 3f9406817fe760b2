/* Keeping a record of a run. See cli/recorder.h. */
#include "cli/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/courier.h"
#include "cli/history.h"
#include "cli/json.h"
#include "cli/outlook.h"
#include "cli/report_page.h"
#include "cli/say.h"
#include "cli/scribe.h"
#include "cli/state.h"
#include "cli/summary.h"

/* While the run goes on it is written when it has lasted half as long again. */
#define FIRST_NS (5 * STK_NS_PER_S)
#define MOST_NS  (600 * STK_NS_PER_S)

#define TITLE_BYTES 400 /* of the command's words */

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

/* "ended with 0 after 12.3 s, 90.1% of 1200 opens from the cache: python train.py" */
static void put_title(FILE *out)
{
    const struct figures *figures = run.figures;
    if (run.outside) {
        fprintf(out, "ended after %.1f s without stoker run", figures->run_s);
    } else if (run.ended) {
        fprintf(out, "ended with %d after %.1f s", command_exit_status(run.status), figures->run_s);
    } else {
        fprintf(out, "not ended at %.1f s", figures->run_s);
    }
    fprintf(
        out, ", %.1f%% of %" PRIu64 " opens from the cache:",
        percent((double)figures->total[STK_COUNT_HITS], (double)figures->total[STK_COUNT_OPENS]),
        figures->total[STK_COUNT_OPENS]);
    put_words(out, run.outside ? asked->spelled : asked->command);
}

static void put_summary(FILE *out)
{
    if (!run.ended) {
        fprintf(out, "stoker: as of second %.1f, before the command had ended:\n",
                run.figures->run_s);
    }
    summary_print(out, run.figures);
    outlook_print(out, run.figures);
    courier_print(out);
}

/* The object of --json, and how it came to that. */
static void put_json(FILE *out)
{
    char began[32] = "";
    struct tm utc;
    if (gmtime_r(&run.began, &utc) != NULL) {
        strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    fprintf(out, "{\n");
    summary_put_json(out, run.figures, run.status);
    fprintf(out, ",\n  \"run\": {\"name\": ");
    json_string(out, run.name);
    fprintf(out, ", \"machine\": ");
    json_string(out, run.machine);
    fprintf(out, ", \"began\": \"%s\", \"ended\": %s},\n  \"series\": ", began,
            run.ended ? "true" : "false");
    series_write_json(out, &run.series);
    fprintf(out, "\n}\n");
}

static void put_page(FILE *out)
{
    report_page(out, &run);
}

static bool compose(struct history_record *record)
{
    static void (*const puts[HISTORY_PARTS])(FILE * out) = {[HISTORY_TITLE] = put_title,
                                                            [HISTORY_SUMMARY] = put_summary,
                                                            [HISTORY_JSON] = put_json,
                                                            [HISTORY_PAGE] = put_page};
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

/* Begins to write what the run has come to. False: it is not begun. */
static bool write_record(const struct figures *figures)
{
    struct history_record record = {.bytes = {0}};
    run.figures = figures;
    bool begun = compose(&record) && scribe_write(run.name, &record);
    history_free(&record);
    return begun;
}

/* ---- when ---- */

bool recorder_is_wanted(const struct request *request)
{
    const char *value = getenv(stk_option_table[STK_OPTION_HISTORY].variable);
    return !request->no_history && (value == NULL || strcmp(value, "off") != 0);
}

void recorder_begin(const struct request *request, const struct session *session_)
{
    asked = request;
    session = session_;
    recording = recorder_is_wanted(request);
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

void recorder_look(const struct stk_run_counts *counts, const struct pulse_figures *pulse)
{
    struct figures figures;
    int64_t now_ns = since_ns();
    if (!recording) {
        return;
    }
    series_look(&run.series, counts, session->tally, now_ns);
    if (now_ns >= next_ns()) {
        figures_gather(&figures, asked, session, counts, pulse, (double)now_ns / 1e9);
        write_record(&figures);
        written_ns = now_ns;
    }
}

static int write_last(const struct figures *figures)
{
    int error = scribe_wait(STATE_PATIENCE_MS);
    if (error == -ETIMEDOUT) {
        return error;
    }
    return write_record(figures) ? scribe_wait(STATE_PATIENCE_MS) : -ENOMEM;
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
    scribe_leave();
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
