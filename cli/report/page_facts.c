#include "cli/report/page_facts.h"

#include <stdlib.h>

#include "cli/help/help.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/summary/bypass_text.h"
#include "cli/tiers/usage.h"

static void write_suggestions(struct json *json, const struct figures *figures)
{
    char *suggested[FIGURES_SUGGESTIONS];
    unsigned count = figures_suggest(figures, suggested);
    for (unsigned i = 0; i < count; i++) {
        lines_let_break(suggested[i]);
    }
    json_texts(json, "suggestions", suggested, count);
    for (unsigned i = 0; i < count; i++) {
        free(suggested[i]);
    }
}

/* Writes "/dev/shm/stoker-1000, 40.1 MiB of 1.2 GiB used". */
static void write_cache(struct json *json, const struct session *session)
{
    bool attached = session->tier.shared != NULL;
    OWNED char *used = attached ? usage_text(&session->tier) : NULL;
    OWNED char *text = attached ? must_format("%s, %s", session->tier.home, used) : NULL;
    json_text(json, "cache", text);
}

static double since_start_s(const struct recorded *run, uint64_t at_ns)
{
    return ((double)at_ns - (double)run->passes_ns) / 1e9;
}

static void write_epochs(struct json *json, const struct recorded *run)
{
    const struct figures *figures = run->figures;
    json_list(json, "epochs_s");
    for (unsigned n = 0; figures->by_passes && n < figures->passes; n++) {
        struct stk_tally_pass pass = {0};
        stk_tally_read_pass(figures->session->tally, figures->loader, n, &pass);
        if (pass.begins > 0) {
            json_list(json, NULL);
            json_number(json, NULL, since_start_s(run, pass.begun_ns), 3);
            json_number(json, NULL, since_start_s(run, pass.ended_ns), 3);
            json_end(json);
        }
    }
    json_end(json);
}

/* Returns the seconds in which workers existed and made no batch. */
static double idle_s(const struct figures *figures)
{
    double existed_s = figures->first.seconds * (double)figures->first.workers +
                       figures->later.seconds * (double)figures->later.workers;
    return existed_s > figures->fetch_s ? existed_s - figures->fetch_s : 0;
}

static void write_bypassed(struct json *json, const struct stk_run_counts *counts)
{
    char size[BYPASSED_SIZE_TEXT];
    json_list(json, "bypassed");
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (bypassed_count(counts, why) > 0) {
            json_object(json, NULL);
            json_text(json, "why", stk_bypass_name((enum stk_bypass)why));
            json_text(json, "meaning", bypassed_meanings[why]);
            json_count(json, "opens", bypassed_count(counts, why));
            json_text(json, "size", bypassed_size(size, counts, why));
            json_text(json, "setting", bypassed_settings[why]);
            json_end(json);
        }
    }
    json_end(json);
}

/* Writes the reasons of one range of the tally that were counted. */
static void write_reasons(struct json *json, const struct session *session, int first, int end)
{
    for (int slot = first; slot < end; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (figures_tallied(session, why) > 0) {
            json_text(json, stk_tally_name(why), stk_tally_meaning(why));
        }
    }
}

void page_facts_write(struct json *json, const struct recorded *run)
{
    const struct figures *figures = run->figures;
    json_object(json, "report");
    json_text(json, "version", STK_VERSION);
    write_suggestions(json, figures);
    write_cache(json, figures->session);
    write_epochs(json, run);
    json_number(json, "idle_s", idle_s(figures), 6);
    json_number(json, "upload_s", figures->upload_s, 6);
    write_bypassed(json, figures->counts);
    json_object(json, "meanings");
    write_reasons(json, figures->session, STK_TALLY_IMAGES + 1, STK_TALLY_REASONS);
    write_reasons(json, figures->session, STK_TALLY_BATCH_REASONS, STK_TALLY_BATCH_REASONS_END);
    json_end(json);
    json_end(json);
}
