
#include "base/options.h"
#include "base/rank.h"
#include "cli/fill/finisher.h"
#include "cli/os/command.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/run/shared_helper.h"
#include "cli/run/uncovered.h"
#include "cli/summary/bypass_text.h"
#include "cli/summary/forecast.h"
#include "cli/summary/metrics.h"
#include "cli/summary/rank_figures.h"
#include "cli/summary/summary.h"
#include "cli/tiers/usage.h"

/* ---- opens ---- */

/* Writes the value of each reason that opens had, with the keys that `name_of` gives. */
static void write_reasons_of_opens(struct json *json, const char *name,
                                   const char *(*name_of)(enum stk_bypass why),
                                   const uint64_t opens[STK_BYPASS_KINDS],
                                   const uint64_t values[STK_BYPASS_KINDS])
{
    json_object(json, name);
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (opens[why] > 0) {
            json_count(json, name_of((enum stk_bypass)why), values[why]);
        }
    }
    json_end(json);
}

/* Writes the reasons, and once more under the names of an earlier version. Each object has one name
 * for a reason, so a script may add up its values. */
static void write_not_cached(struct json *json, const struct stk_run_counts *counts)
{
    const uint64_t *opens = counts->bypassed, *bytes = counts->bypassed_bytes;
    write_reasons_of_opens(json, "not_cached", bypassed_key, opens, opens);
    write_reasons_of_opens(json, "not_cached_bytes", bypassed_key, opens, bytes);
    write_reasons_of_opens(json, "bypassed", stk_bypass_name, opens, opens);
    write_reasons_of_opens(json, "bypassed_bytes", stk_bypass_name, opens, bytes);
}

/* Writes the buckets that hold any wait. The last bucket has no bound. */
static void write_waits(struct json *json, const uint64_t waits[STK_WAITS_BUCKETS])
{
    json_object(json, "storage_waits");
    json_count(json, "p50_us", stk_waits_percentile_us(waits, 50));
    json_count(json, "p99_us", stk_waits_percentile_us(waits, 99));
    json_list(json, "buckets");
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS; bucket++) {
        if (waits[bucket] == 0) {
            continue;
        }
        json_object(json, NULL);
        if (bucket < STK_WAITS_BUCKETS - 1) {
            json_count(json, "le_us", stk_waits_bound_us(bucket));
        } else {
            json_text(json, "le_us", NULL);
        }
        json_count(json, "count", waits[bucket]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void write_epochs(struct json *json, const struct figures *figures)
{
    json_text(json, "epochs_by", figures->by_passes ? "passes" : "opens");
    json_list(json, "epochs");
    for (unsigned epoch = 0; epoch < figures->opened; epoch++) {
        json_object(json, NULL);
        json_count(json, "epoch", epoch + 1);
        metrics_write_epoch(json, figures->counts->epochs[epoch]);
        json_number(json, "seconds", figures_opens_s(figures->times, epoch), 6);
        json_end(json);
    }
    json_end(json);
}

static void write_read_ahead(struct json *json, const struct figures *figures)
{
    json_object(json, "read_ahead");
    metrics_write(json, METRIC_AHEAD, figures);
    enum stk_ahead_count limit = figures_ahead_limit(figures);
    bool read_all = limit == STK_AHEAD_WINDOW_NS; /* what the loader had named: no limit */
    json_text(json, "limited_by", figures_limit_name(read_all ? STK_AHEAD_FILES : limit));
    json_text(json, "limit", figures_limit_name(limit)); /* the older name */
    json_end(json);
}

/* ---- images, samples, batches ---- */

/* Writes the reasons of a range of the tally that were counted, as an object. */
static void write_reasons(struct json *json, const char *name, const struct session *session,
                          int first, int end)
{
    json_object(json, name);
    for (int slot = first; slot < end; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (figures_tallied(session, why) > 0) {
            json_count(json, stk_tally_name(why), figures_tallied(session, why));
        }
    }
    json_end(json);
}

static void write_decoded(struct json *json, const struct figures *figures)
{
    json_object(json, "decode");
    metrics_write(json, METRIC_DECODE, figures);
    write_reasons(json, "left_to_pillow", figures->session, STK_TALLY_IMAGES + 1,
                  STK_TALLY_REASONS);
    metrics_write(json, METRIC_RESIZE, figures);
    json_end(json);
}

static void write_batches(struct json *json, const struct figures *figures)
{
    json_object(json, "batches");
    metrics_write(json, METRIC_BATCHES, figures);
    write_reasons(json, "left_to_torch", figures->session, STK_TALLY_BATCH_REASONS,
                  STK_TALLY_BATCH_REASONS_END);
    json_end(json);
}

static void write_samples(struct json *json, const struct figures *figures, bool ours)
{
    const struct session *session = figures->session;
    json_object(json, "decoded_copies");
    if (ours) {
        const char *set = stk_option_value(STK_OPTION_SAMPLES);
        json_text(json, "setting", set != NULL ? set : "");
        json_count(json, "budget_bytes", samples_budget_bytes(&session->samples));
        json_count(json, "used_bytes", samples_used_bytes(&session->samples));
    }
    metrics_write(json, METRIC_SAMPLES, figures);
    json_number(json, "saved_s", session->tally != NULL ? samples_saved_s(session->tally) : 0.0, 6);
    json_end(json);
}

/* ---- passes and times ---- */

static void write_stretch(struct json *json, const char *name, const struct stretch *stretch)
{
    json_object(json, name);
    json_number(json, "seconds", stretch->seconds, 6);
    json_count(json, "count", stretch->count);
    json_number(json, "waited_s", stretch->waited_s, 6);
    json_end(json);
}

static void write_pass(struct json *json, unsigned loader, unsigned number,
                       const struct stretch *pass)
{
    json_object(json, NULL);
    json_count(json, "loader", loader + 1);
    json_count(json, "pass", number + 1);
    json_number(json, "seconds", pass->seconds, 6);
    json_number(json, "waited_s", pass->waited_s, 6);
    json_count(json, "samples", pass->count);
    json_count(json, "batches", pass->batches);
    json_count(json, "processes", pass->processes);
    json_count(json, "workers", pass->workers);
    json_end(json);
}

static void write_passes(struct json *json, const struct figures *figures)
{
    json_list(json, "passes");
    for (unsigned loader = 0; loader < STK_TALLY_LOADERS; loader++) {
        for (unsigned number = 0; number < STK_TALLY_PASSES; number++) {
            struct stretch pass;
            figures_pass(figures->session, loader, number, &pass);
            if (pass.processes > 0) {
                write_pass(json, loader, number, &pass);
            }
        }
    }
    json_end(json);
    json_object(json, "compared");
    json_count(json, "loader", figures->by_passes ? figures->loader + 1 : 0);
    json_count(json, "epochs", figures->epochs);
    write_stretch(json, "first", &figures->first);
    write_stretch(json, "later", &figures->later);
    json_end(json);
}

/* Writes seconds of all processes added up. The seconds of waiting are those of the epochs above.
 */
static void write_times(struct json *json, const struct figures *figures)
{
    const struct {
        const char *name;
        double seconds;
    } times[] = {{"storage_s", figures->origin_s},
                 {"origin_s", figures->origin_s}, /* the older name */
                 {"decode_s", figures->decode_s},
                 {"resize_s", figures->resize_s},
                 {"batches_s", figures->collate_s},
                 {"fetch_s", figures->fetch_s},
                 {"cache_s", figures->cache_s},
                 {"other_s", figures->other_s},
                 {"start_s", figures->start_s},
                 {"waited_s", figures->first.waited_s + figures->later.waited_s}};
    json_object(json, "time");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        json_number(json, times[i].name, times[i].seconds, 6);
    }
    json_end(json);
}

/* Writes the seconds of transforms that Stoker does not make, by their names. */
static void write_transforms(struct json *json, const struct figures *figures)
{
    struct stk_tally_call call;
    json_object(json, "transforms");
    for (unsigned i = 0; stk_tally_read_call(figures->session->tally, i, &call); i++) {
        json_number(json, call.name, (double)call.ns / 1e9, 3);
    }
    json_end(json);
}

void summary_write_counted(struct json *json, const struct figures *figures, bool ours)
{
    const struct stk_run_counts *counts = figures->counts;
    json_number(json, "seconds", figures->run_s, 3);
    metrics_write(json, METRIC_OPENS, figures);
    metrics_write(json, METRIC_FILES, figures);
    write_not_cached(json, counts);
    write_waits(json, counts->waits);
    metrics_write_object(json, "blocks", METRIC_BLOCKS, figures);
    write_read_ahead(json, figures);
    write_decoded(json, figures);
    write_samples(json, figures, ours);
    metrics_write_object(json, "results", METRIC_RESULTS, figures);
    write_batches(json, figures);
    forecast_write_json(json, figures->session, counts);
    write_passes(json, figures);
    write_times(json, figures);
    write_transforms(json, figures);
    metrics_write_object(json, "upload", METRIC_UPLOAD, figures);
    write_epochs(json, figures);
}

/* ---- the run of this process ---- */

static void write_ahead(struct json *json, const struct fill_figures *ahead)
{
    json_object(json, "warm");
    json_count(json, "found", ahead->found);
    json_count(json, "done", ahead->done);
    json_count(json, "filled", ahead->filled);
    json_count(json, "filled_bytes", ahead->filled_bytes);
    json_count(json, "present", ahead->present);
    json_bool(json, "full", ahead->full);
    json_end(json);
}

static uint64_t count_left(const struct finisher_figures *finished)
{
    uint64_t count = 0;
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        count += finished->left[why];
    }
    return count;
}

static void write_finished(struct json *json, const struct session *session)
{
    unsigned count;
    uint64_t more;
    const struct finisher_figures *finished = &session->finished;
    struct finisher_mapped *mapped = finisher_list_mapped(&session->run, &count, &more);
    json_object(json, "finished");
    json_count(json, "files", finished->files);
    json_count(json, "bytes", finished->bytes);
    json_count(json, "unfinished", count_left(finished));
    json_end(json);
    json_list(json, "mapped");
    for (unsigned i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "path", mapped[i].path);
        json_bool(json, "filled", mapped[i].done);
        json_end(json);
    }
    json_end(json);
    finisher_free_mapped(mapped, count);
}

static void write_tier(struct json *json, const struct session *session)
{
    json_object(json, "tier");
    usage_write_json(json, &session->tier);
    json_count(json, "given_back_bytes", session->given_back_bytes);
    json_end(json);
}

static void write_uncovered(struct json *json, const struct figures *figures)
{
    const struct uncovered *seen = uncovered_read();
    const struct session *session = figures->session;
    json_list(json, "open_elsewhere");
    for (unsigned i = 0; i < seen->count; i++) {
        json_object(json, NULL);
        json_text(json, "directory", seen->places[i].directory);
        json_count(json, "seen", seen->places[i].files);
        json_end(json);
    }
    json_end(json);
    metrics_write_object(json, "inner", METRIC_INNER, figures);
    metrics_write(json, METRIC_SEEN, figures);
    json_count(json, "refused_python",
               session->tally != NULL ? stk_tally_refused_python(session->tally) : 0);
}

static void write_advice(struct json *json, const struct figures *figures)
{
    OWNED char *advice = figures_advice(figures);
    if (advice != NULL) {
        lines_let_break(advice);
    }
    json_text(json, "bound", figures_bound_name(figures->bound));
    json_text(json, "advice", advice != NULL ? advice : "");
}

/* Writes the number that a launcher around the command has given this process, or null. Inside of
 * the command there may be several ranks: the figures are their sum, and `ranks` has each. */
static void write_rank(struct json *json)
{
    int rank = stk_rank_own();
    if (rank != STK_RANK_NONE) {
        json_integer(json, "rank", rank);
    } else {
        json_text(json, "rank", NULL);
    }
}

static unsigned count_words(char *const *words)
{
    unsigned count = 0;
    while (words[count] != NULL) {
        count++;
    }
    return count;
}

void summary_put_json(struct json *json, const struct figures *figures, int status)
{
    const struct request *request = figures->request;
    const struct session *session = figures->session;
    json_count(json, "version", 1);
    json_texts(json, "paths", request->spelled, request->count);
    json_texts(json, "command", request->command, count_words(request->command));
    json_integer(json, "status", command_exit_status(status));
    write_rank(json);
    write_finished(json, session);
    write_tier(json, session);
    shared_helper_write_json(json);
    if (request->warm) {
        write_ahead(json, &session->ahead);
    }
    write_uncovered(json, figures);
    write_advice(json, figures);
    summary_write_counted(json, figures, true);
    rank_figures_write_json(json, session);
}

void summary_write_json(int fd, const struct figures *figures, int status)
{
    FILE *out = fdopen(fd, "w");
    if (out == NULL) {
        return;
    }
    struct json json = json_begin(out);
    summary_put_json(&json, figures, status);
    json_finish(&json);
    if (fflush(out) != 0) {
        say("--json %s: could not be written", figures->request->json);
    }
    fclose(out);
}
