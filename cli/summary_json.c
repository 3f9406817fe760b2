/* What a run did, for programs: all that was counted. See cli/summary.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "cli/command.h"
#include "cli/courier.h"
#include "cli/elsewhere.h"
#include "cli/holding.h"
#include "cli/json.h"
#include "cli/outlook.h"
#include "cli/say.h"
#include "cli/summary.h"
#include "cli/summary_lines.h"

static void write_counts(FILE *out, const uint64_t row[STK_COUNT_KINDS])
{
    fprintf(
        out,
        "\"opens\": %" PRIu64 ", \"hits\": %" PRIu64 ", \"fills\": %" PRIu64
        ", \"bytes_cache\": %" PRIu64 ", \"bytes_origin\": %" PRIu64 ", \"origin_wait_s\": %.6f",
        row[STK_COUNT_OPENS], row[STK_COUNT_HITS], row[STK_COUNT_FILLS], row[STK_COUNT_BYTES_CACHE],
        row[STK_COUNT_BYTES_ORIGIN], (double)row[STK_COUNT_WAIT_NS] / 1e9);
}

/* Of those that there were: how many, or their bytes. */
static void write_bypassed(FILE *out, const char *name, const uint64_t were[STK_BYPASS_KINDS],
                           const uint64_t values[STK_BYPASS_KINDS])
{
    const char *comma = "";
    fprintf(out, "  \"%s\": {", name);
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (were[why] > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, comma, stk_bypass_name((enum stk_bypass)why),
                    values[why]);
            comma = ", ";
        }
    }
    fprintf(out, "},\n");
}

static void write_decoded(FILE *out, const struct session *session)
{
    const char *comma = "";
    fprintf(out, "  \"decode\": {\"images\": %" PRIu64 ", \"settled\": {",
            figures_tallied(session, STK_TALLY_IMAGES));
    for (int slot = STK_TALLY_IMAGES + 1; slot < STK_TALLY_REASONS; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (figures_tallied(session, why) > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, comma, stk_tally_name(why),
                    figures_tallied(session, why));
            comma = ", ";
        }
    }
    fprintf(out, "}, \"resized\": %" PRIu64 "},\n", figures_tallied(session, STK_TALLY_RESIZED));
}

static void write_results(FILE *out, const struct session *session)
{
    fprintf(out,
            "  \"results\": {\"found\": %" PRIu64 ", \"made\": %" PRIu64 ", \"kept\": %" PRIu64
            "},\n",
            figures_tallied(session, STK_TALLY_RESULTS_FOUND),
            figures_tallied(session, STK_TALLY_RESULTS_MADE),
            figures_tallied(session, STK_TALLY_RESULTS_KEPT));
}

static void write_batches(FILE *out, const struct session *session)
{
    const char *comma = "";
    fprintf(out,
            "  \"batches\": {\"slots\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"copied\": %" PRIu64
            ", \"left\": {",
            figures_tallied(session, STK_TALLY_BATCHES), figures_tallied(session, STK_TALLY_ROWS),
            figures_tallied(session, STK_TALLY_COPIED));
    for (int slot = STK_TALLY_BATCH_REASONS; slot < STK_TALLY_BATCH_REASONS_END; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (figures_tallied(session, why) > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, comma, stk_tally_name(why),
                    figures_tallied(session, why));
            comma = ", ";
        }
    }
    fprintf(out, "}},\n");
}

static void write_sample_store(FILE *out, const struct session *session)
{
    const char *set = getenv(stk_option_table[STK_OPTION_SAMPLES].variable);
    fprintf(out, "\"setting\": ");
    json_string(out, set != NULL ? set : "");
    fprintf(out, ", \"budget_bytes\": %" PRIu64 ", \"used_bytes\": %" PRIu64 ", ",
            samples_budget_bytes(&session->samples), samples_used_bytes(&session->samples));
}

static void write_samples(FILE *out, const struct session *session,
                          const struct stk_run_counts *counts, bool ours)
{
    fprintf(out, "  \"samples\": {");
    if (ours) {
        write_sample_store(out, session);
    }
    fprintf(
        out,
        "\"kept\": %" PRIu64 ", \"kept_bytes\": %" PRIu64 ", \"hits\": %" PRIu64
        ", \"unread\": %" PRIu64 ", \"unread_bytes\": %" PRIu64
        ", \"saved_s\": %.6f, \"given_up\": %" PRIu64 ", \"given_up_bytes\": %" PRIu64 "},\n",
        figures_tallied(session, STK_TALLY_FORMS), figures_tallied(session, STK_TALLY_FORM_BYTES),
        figures_tallied(session, STK_TALLY_FROM_FORMS), figures_tallied(session, STK_TALLY_UNREAD),
        figures_tallied(session, STK_TALLY_UNREAD_BYTES),
        session->tally != NULL ? samples_saved_s(session->tally) : 0.0, counts->given_up,
        counts->given_up_bytes);
}

static void write_ahead(FILE *out, const struct ahead_figures *ahead)
{
    fprintf(out,
            "  \"ahead\": {\"found\": %" PRIu64 ", \"done\": %" PRIu64 ", \"filled\": %" PRIu64
            ", \"filled_bytes\": %" PRIu64 ", \"present\": %" PRIu64 ", \"full\": %s},\n",
            ahead->found, ahead->done, ahead->filled, ahead->filled_bytes, ahead->present,
            ahead->full ? "true" : "false");
}

static void write_blocks(FILE *out, const struct stk_run_counts *counts)
{
    fprintf(out,
            "  \"blocks\": {\"reads\": %" PRIu64 ", \"bytes_cache\": %" PRIu64
            ", \"bytes_origin\": %" PRIu64 "},\n",
            counts->blocks[STK_BLOCK_READS], counts->blocks[STK_BLOCK_BYTES_CACHE],
            counts->blocks[STK_BLOCK_BYTES_ORIGIN]);
}

static void write_finished(FILE *out, const struct session *session)
{
    unsigned count;
    uint64_t more;
    const struct finisher_figures *finished = &session->finished;
    struct finisher_mapped *mapped = finisher_list_mapped(&session->run, &count, &more);
    fprintf(out,
            "  \"finished\": {\"files\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"left\": %" PRIu64
            "},\n  \"mapped\": [",
            finished->files, finished->bytes, finished->left);
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "%s{\"path\": ", i > 0 ? ", " : "");
        json_string(out, mapped[i].path);
        fprintf(out, ", \"filled\": %s}", mapped[i].done ? "true" : "false");
    }
    fprintf(out, "],\n");
    finisher_free_mapped(mapped, count);
}

/* Of the buckets those that hold any; the last has no bound. */
static void write_waits(FILE *out, const uint64_t waits[STK_WAITS_BUCKETS])
{
    const char *comma = "";
    fprintf(out,
            "  \"origin_waits\": {\"p50_us\": %" PRIu64 ", \"p99_us\": %" PRIu64 ", \"buckets\": [",
            stk_waits_percentile_us(waits, 50), stk_waits_percentile_us(waits, 99));
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS; bucket++) {
        char bound[24] = "null";
        if (bucket < STK_WAITS_BUCKETS - 1) {
            snprintf(bound, sizeof bound, "%" PRIu64, stk_waits_bound_us(bucket));
        }
        if (waits[bucket] > 0) {
            fprintf(out, "%s{\"le_us\": %s, \"count\": %" PRIu64 "}", comma, bound, waits[bucket]);
            comma = ", ";
        }
    }
    fprintf(out, "]},\n");
}

static void write_epochs(FILE *out, const struct figures *figures)
{
    fprintf(out, "  \"epochs_by\": \"%s\",\n  \"epochs\": [",
            figures->by_passes ? "passes" : "opens");
    for (unsigned epoch = 0; epoch < figures->opened; epoch++) {
        fprintf(out, "%s\n    {\"epoch\": %u, ", epoch > 0 ? "," : "", epoch + 1);
        write_counts(out, figures->counts->epochs[epoch]);
        fprintf(out, ", \"seconds\": %.6f}", figures_opens_s(figures->pulse, epoch));
    }
    fprintf(out, "%s]", figures->opened > 0 ? "\n  " : "");
}

static void write_stretch(FILE *out, const char *name, const struct stretch *stretch)
{
    fprintf(out, "\"%s\": {\"seconds\": %.6f, \"count\": %" PRIu64 ", \"waited_s\": %.6f}", name,
            stretch->seconds, stretch->count, stretch->waited_s);
}

static void write_passes(FILE *out, const struct figures *figures)
{
    const char *comma = "";
    fprintf(out, "  \"passes\": [");
    for (unsigned loader = 0; loader < STK_TALLY_LOADERS; loader++) {
        for (unsigned number = 0; number < STK_TALLY_PASSES; number++) {
            struct stretch pass;
            figures_pass(figures->session, loader, number, &pass);
            if (pass.processes > 0) {
                fprintf(out,
                        "%s\n    {\"loader\": %u, \"pass\": %u, \"seconds\": %.6f, \"waited_s\": "
                        "%.6f, \"samples\": %" PRIu64 ", \"batches\": %" PRIu64
                        ", \"processes\": %" PRIu64 ", \"workers\": %" PRIu64 "}",
                        comma, loader + 1, number + 1, pass.seconds, pass.waited_s, pass.count,
                        pass.batches, pass.processes, pass.workers);
                comma = ",";
            }
        }
    }
    fprintf(out, "],\n  \"compared\": {\"loader\": %u, \"epochs\": %u, ",
            figures->by_passes ? figures->loader + 1 : 0, figures->epochs);
    write_stretch(out, "first", &figures->first);
    fprintf(out, ", ");
    write_stretch(out, "later", &figures->later);
    fprintf(out, "},\n");
}

/* Seconds of all processes, added up; but for waiting, which is that of the epochs above. */
static void write_times(FILE *out, const struct figures *figures)
{
    fprintf(out,
            "  \"time\": {\"origin_s\": %.6f, \"decode_s\": %.6f, \"resize_s\": %.6f, "
            "\"batches_s\": %.6f, \"fetch_s\": %.6f, \"other_s\": %.6f, \"start_s\": %.6f, "
            "\"waited_s\": %.6f},\n",
            figures->origin_s, figures->decode_s, figures->resize_s, figures->collate_s,
            figures->fetch_s, figures->other_s, figures->start_s,
            figures->first.waited_s + figures->later.waited_s);
}

static void write_uploads(FILE *out, const struct session *session)
{
    fprintf(out,
            "  \"upload\": {\"batches\": %" PRIu64 ", \"bytes\": %" PRIu64
            ", \"float_bytes\": %" PRIu64 ", \"unlocked_bytes\": %" PRIu64
            ", \"sending_s\": %.6f, \"stalled_s\": %.6f, \"cuda\": %" PRIu64 "},\n",
            figures_tallied(session, STK_TALLY_UPLOADS),
            figures_tallied(session, STK_TALLY_UPLOAD_BYTES),
            figures_tallied(session, STK_TALLY_UPLOAD_FLOAT_BYTES),
            figures_tallied(session, STK_TALLY_UPLOAD_UNLOCKED_BYTES),
            (double)figures_tallied(session, STK_TALLY_UPLOAD_SENDING_NS) / 1e9,
            (double)figures_tallied(session, STK_TALLY_UPLOAD_STALLED_NS) / 1e9,
            figures_tallied(session, STK_TALLY_CUDA));
}

static void write_elsewhere(FILE *out, const struct figures *figures)
{
    const struct elsewhere *seen = elsewhere_read();
    const struct session *session = figures->session;
    fprintf(out, "  \"elsewhere\": [");
    for (unsigned i = 0; i < seen->count; i++) {
        fprintf(out, "%s{\"directory\": ", i > 0 ? ", " : "");
        json_string(out, seen->places[i].directory);
        fprintf(out, ", \"seen\": %" PRIu64 "}", seen->places[i].files);
    }
    fprintf(out,
            "],\n  \"inner\": {\"runs\": %" PRIu64 ", \"opens\": %" PRIu64 ", \"hits\": %" PRIu64
            "},\n",
            figures_tallied(session, STK_TALLY_INNER_RUNS),
            figures_tallied(session, STK_TALLY_INNER_OPENS),
            figures_tallied(session, STK_TALLY_INNER_HITS));
    fprintf(out, "  \"opencv\": %" PRIu64 ", \"refused_python\": %u,\n",
            figures_tallied(session, STK_TALLY_OPENCV),
            session->tally != NULL ? stk_tally_refused_python(session->tally) : 0);
}

static void write_advice(FILE *out, const struct figures *figures)
{
    char *advice = figures_advice(figures);
    if (advice != NULL) {
        lines_let_break(advice);
    }
    fprintf(out, "  \"bound\": \"%s\", \"advice\": ", figures_bound_name(figures->bound));
    json_string(out, advice != NULL ? advice : "");
    fprintf(out, ",\n");
    free(advice);
}

static void write_tier(FILE *out, const struct session *session)
{
    static const struct stk_budget none;
    const struct stk_budget *budget =
        session->tier.shared != NULL ? &session->tier.shared->budget : &none;
    const struct holding holding = holding_of(&session->tier);
    fprintf(out, "  \"tier\": {\"path\": ");
    json_string(out, session->tier.home);
    fprintf(out,
            ", \"budget_bytes\": %" PRId64 ", \"budget_inodes\": %" PRId64
            ", \"used_bytes\": %" PRIu64 ", \"set_aside_bytes\": %" PRIu64
            ", \"used_inodes\": %" PRId64 ", \"given_back_bytes\": %" PRIu64 "},\n",
            budget->blocks * STK_BLOCK_BYTES, budget->inodes, holding.used_bytes,
            holding.aside_bytes, budget->used_inodes, session->given_back_bytes);
}

void summary_write_counted(FILE *out, const struct figures *figures, bool ours)
{
    const struct session *session = figures->session;
    const struct stk_run_counts *counts = figures->counts;
    fprintf(out, "  \"seconds\": %.3f,\n  ", figures->run_s);
    write_counts(out, figures->total);
    fprintf(out, ",\n  \"files\": %" PRIu64 ", \"unnumbered\": %" PRIu64 ",\n",
            stk_run_files(counts), counts->unnumbered);
    fprintf(out,
            "  \"stats_served\": %" PRIu64 ", \"stats_asked\": %" PRIu64 ", \"stale\": %" PRIu64
            ", \"members\": %" PRIu64 ",\n",
            counts->stats_served, counts->stats_asked, counts->stale, counts->members);
    write_bypassed(out, "bypassed", counts->bypassed, counts->bypassed);
    write_bypassed(out, "bypassed_bytes", counts->bypassed, counts->bypassed_bytes);
    write_waits(out, counts->waits);
    write_blocks(out, counts);
    write_decoded(out, session);
    write_samples(out, session, counts, ours);
    write_results(out, session);
    write_batches(out, session);
    outlook_write_json(out, session, counts);
    write_passes(out, figures);
    write_times(out, figures);
    write_uploads(out, session);
    write_epochs(out, figures);
}

void summary_put_json(FILE *out, const struct figures *figures, int status)
{
    const struct request *request = figures->request;
    const struct session *session = figures->session;
    fprintf(out, "  \"version\": 1,\n  \"paths\": ");
    json_strings(out, request->spelled, request->count);
    fprintf(out, ",\n  \"command\": ");
    json_strings(out, request->command, json_count(request->command));
    fprintf(out, ",\n  \"status\": %d,\n", command_exit_status(status));
    write_finished(out, session);
    write_tier(out, session);
    courier_write_json(out);
    if (request->warm) {
        write_ahead(out, &session->ahead);
    }
    write_elsewhere(out, figures);
    write_advice(out, figures);
    summary_write_counted(out, figures, true);
}

void summary_write_json(int fd, const struct figures *figures, int status)
{
    FILE *out = fdopen(fd, "w");
    if (out == NULL) {
        return;
    }
    fprintf(out, "{\n");
    summary_put_json(out, figures, status);
    fprintf(out, "\n}\n");
    if (fflush(out) != 0) {
        say("--json %s: could not be written", figures->request->json);
    }
    fclose(out);
}
