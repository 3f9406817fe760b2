#include <stdio.h>

#include "cli/out/json.h"
#include "cli/summary/rank_figures.h"
#include "cli/summary/summary.h"
#include "cli/tiers/usage.h"
#include "cli/top/top.h"

/* Writes null if there was no earlier look. */
static void write_pace(struct json *json, const struct top_run *run, const struct top_look *before)
{
    struct top_pace pace;
    top_pace(run, before, &pace);
    if (!pace.known) {
        json_text(json, "per_second", NULL);
        return;
    }
    json_object(json, "per_second");
    json_number(json, "opens", pace.opens, 3);
    json_number(json, "hits", pace.hits, 3);
    json_number(json, "fills", pace.fills, 3);
    json_number(json, "bytes_cache", pace.bytes_cache, 0);
    json_number(json, "bytes_storage", pace.bytes_origin, 0);
    json_number(json, "images", pace.images, 3);
    json_number(json, "samples", pace.samples, 3);
    json_number(json, "batches", pace.batches, 3);
    json_end(json);
    json_number(json, "waiting_for_storage", pace.waiting, 3);
    json_number(json, "waiting_for_batches", pace.starved, 3);
}

static void write_run(struct json *json, const struct top_run *run, const struct top_look *before)
{
    json_object(json, NULL);
    json_text(json, "run", run->name);
    json_text(json, "state", top_state_name(run->state));
    json_text(json, "title", run->view.title);
    json_text(json, "bound", figures_bound_name(run->figures.bound));
    write_pace(json, run, before);
    summary_write_counted(json, &run->figures, false);
    rank_figures_write_json(json, &run->session);
    json_end(json);
}

static void write_tier(struct json *json, const struct stk_tier *tier)
{
    json_object(json, NULL);
    usage_write_json(json, tier);
    json_bool(json, "memory", tier->shared->memory != 0);
    json_end(json);
}

void top_write_json(const struct top_look *now, const struct top_look *before)
{
    struct json json = json_begin(stdout);
    json_count(&json, "version", 1);
    json_list(&json, "runs");
    for (unsigned i = 0; i < now->count; i++) {
        write_run(&json, now->runs[i], before);
    }
    json_end(&json);
    json_count(&json, "more_runs", now->more);
    json_list(&json, "tiers");
    for (unsigned i = 0; i < now->session.tier_count; i++) {
        write_tier(&json, &now->session.tiers[i]);
    }
    json_end(&json);
    json_finish(&json);
}
