/* What `stoker top` shows programs. See cli/top.h. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/holding.h"
#include "cli/json.h"
#include "cli/summary.h"
#include "cli/top.h"

/* null, where nothing is known of the time before. */
static void write_pace(const struct top_run *run, const struct top_look *before)
{
    struct top_pace pace;
    top_pace(run, before, &pace);
    if (!pace.known) {
        printf("  \"per_second\": null,\n");
        return;
    }
    printf("  \"per_second\": {\"opens\": %.3f, \"hits\": %.3f, \"fills\": %.3f, "
           "\"bytes_cache\": %.0f, \"bytes_origin\": %.0f, \"images\": %.3f, \"samples\": %.3f, "
           "\"batches\": %.3f},\n",
           pace.opens, pace.hits, pace.fills, pace.bytes_cache, pace.bytes_origin, pace.images,
           pace.samples, pace.batches);
    printf("  \"waiting_for_origin\": %.3f, \"waiting_for_batches\": %.3f,\n", pace.waiting,
           pace.starved);
}

static void write_run(const struct top_run *run, const struct top_look *before)
{
    printf("{\n  \"run\": ");
    json_string(stdout, run->name);
    printf(", \"state\": \"%s\",\n  \"title\": ", top_state_name(run->state));
    json_string(stdout, run->view.title);
    printf(", \"bound\": \"%s\",\n", figures_bound_name(run->figures.bound));
    write_pace(run, before);
    summary_write_counted(stdout, &run->figures, false);
    printf("\n}");
}

static void write_tier(const struct stk_tier *tier)
{
    const struct stk_budget *budget = &tier->shared->budget;
    const struct holding holding = holding_of(tier);
    printf("{\"path\": ");
    json_string(stdout, tier->home);
    printf(", \"memory\": %s, \"budget_bytes\": %" PRId64 ", \"budget_inodes\": %" PRId64
           ", \"used_bytes\": %" PRIu64 ", \"used_inodes\": %" PRId64
           ", \"samples_bytes\": %" PRIu64 ", \"set_aside_bytes\": %" PRIu64 "}",
           tier->shared->memory != 0 ? "true" : "false", budget->blocks * STK_BLOCK_BYTES,
           budget->inodes, holding.used_bytes, budget->used_inodes, holding.samples_bytes,
           holding.aside_bytes);
}

void top_write_json(const struct top_look *now, const struct top_look *before)
{
    printf("{\"version\": 1, \"runs\": [");
    for (unsigned i = 0; i < now->count; i++) {
        printf("%s", i > 0 ? ", " : "");
        write_run(now->runs[i], before);
    }
    printf("], \"more_runs\": %u,\n\"tiers\": [", now->more);
    for (unsigned i = 0; i < now->session.tier_count; i++) {
        printf("%s", i > 0 ? ", " : "");
        write_tier(&now->session.tiers[i]);
    }
    printf("]}\n");
}
