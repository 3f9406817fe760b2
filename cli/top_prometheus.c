/* The same in Prometheus's text format: a metric after the other, each of all runs. See cli/top.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/holding.h"
#include "cli/plain.h"
#include "cli/say.h"
#include "cli/top.h"

/* ---- labels ---- */

static void write_label(const char *name, const char *value)
{
    printf("%s=\"", name);
    char *line = plain_line(must_copy(value));
    for (const char *at = line; *at != '\0'; at++) {
        printf(*at == '\\' || *at == '"' ? "\\%c" : "%c", *at);
    }
    free(line);
    putchar('"');
}

static void write_head(const char *name, const char *type, const char *help)
{
    printf("# HELP stoker_%s %s\n# TYPE stoker_%s %s\n", name, help, name, type);
}

/* The beginning of a line, up to its labels, which may go on. */
static void begin_line(const char *name, const struct top_run *run)
{
    printf("stoker_%s{", name);
    write_label("run", run->name);
}

/* ---- what has one value for each run ---- */

static double read_total(const struct top_run *run, int kind)
{
    return (double)run->figures.total[kind];
}

static double read_tallied(const struct top_run *run, int slot)
{
    return (double)figures_tallied(&run->session, (enum stk_tally_slot)slot);
}

static double read_blocks(const struct top_run *run, int kind)
{
    return (double)run->view.counts.blocks[kind];
}

static double read_seconds(const struct top_run *run, int unused)
{
    (void)unused;
    return run->figures.run_s;
}

/* Of the loader that has given the most. */
static double read_passes(const struct top_run *run, int unused)
{
    struct stk_tally_pass pass;
    (void)unused;
    return (double)top_epoch(run, &pass);
}

static double read_samples(const struct top_run *run, int unused)
{
    (void)unused;
    const struct figures *figures = &run->figures;
    return figures->by_passes ? (double)(figures->first.count + figures->later.count) : 0;
}

static double read_waited(const struct top_run *run, int unused)
{
    (void)unused;
    return run->figures.first.waited_s + run->figures.later.waited_s;
}

static double read_uploaded(const struct top_run *run, int unused)
{
    (void)unused;
    return run->figures.upload_s;
}

static const struct metric {
    const char *name, *type, *help;
    double (*read)(const struct top_run *run, int which);
    int which;
} metrics[] = {
    {"run_seconds", "gauge", "Time since the run began.", read_seconds, 0},
    {"opens_total", "counter", "Opens of covered files.", read_total, STK_COUNT_OPENS},
    {"hits_total", "counter", "Opens served from the cache.", read_total, STK_COUNT_HITS},
    {"fills_total", "counter", "Opens that filled the cache.", read_total, STK_COUNT_FILLS},
    {"cache_bytes_total", "counter", "Sizes of the files served from the cache.", read_total,
     STK_COUNT_BYTES_CACHE},
    {"origin_bytes_total", "counter", "Sizes of the files read from the origin.", read_total,
     STK_COUNT_BYTES_ORIGIN},
    {"block_reads_total", "counter", "Reads of big files answered from blocks.", read_blocks,
     STK_BLOCK_READS},
    {"block_cache_bytes_total", "counter", "Bytes of these.", read_blocks, STK_BLOCK_BYTES_CACHE},
    {"block_origin_bytes_total", "counter", "Bytes of blocks read from the origin.", read_blocks,
     STK_BLOCK_BYTES_ORIGIN},
    {"images_total", "counter", "Images decoded.", read_tallied, STK_TALLY_IMAGES},
    {"images_from_samples_total", "counter", "Images decoded from samples that were kept.",
     read_tallied, STK_TALLY_FROM_FORMS},
    {"samples_kept_total", "counter", "Decoded samples that were kept.", read_tallied,
     STK_TALLY_FORMS},
    {"batches_in_slots_total", "counter", "Batches that went through slots.", read_tallied,
     STK_TALLY_BATCHES},
    {"loader_passes", "gauge", "Passes (epochs) of the DataLoader that gave the most samples.",
     read_passes, 0},
    {"loader_samples_total", "counter", "Samples that it gave.", read_samples, 0},
    {"loader_wait_seconds_total", "counter", "Time that it was waited for.", read_waited, 0},
    {"uploads_total", "counter", "Batches sent to GPUs by stoker.Loader.", read_tallied,
     STK_TALLY_UPLOADS},
    {"upload_bytes_total", "counter", "Bytes of these.", read_tallied, STK_TALLY_UPLOAD_BYTES},
    {"upload_wait_seconds_total", "counter", "Time that steps waited for them.", read_uploaded, 0},
};

static void write_metric(const struct metric *metric, const struct top_look *look)
{
    write_head(metric->name, metric->type, metric->help);
    for (unsigned i = 0; i < look->count; i++) {
        begin_line(metric->name, look->runs[i]);
        printf("} %.15g\n", metric->read(look->runs[i], metric->which));
    }
}

/* ---- what has more ---- */

static void write_info(const struct top_look *look)
{
    write_head("run_info", "gauge", "1 for each run that lives, with what it runs.");
    for (unsigned i = 0; i < look->count; i++) {
        begin_line("run_info", look->runs[i]);
        printf(",");
        write_label("state", top_state_name(look->runs[i]->state));
        printf(",");
        write_label("title", look->runs[i]->view.title);
        printf("} 1\n");
    }
}

static void write_bypassed(const struct top_look *look)
{
    write_head("bypassed_total", "counter", "Opens left to the origin, by reason.");
    for (unsigned i = 0; i < look->count; i++) {
        for (int why = 1; why < STK_BYPASS_KINDS; why++) {
            begin_line("bypassed_total", look->runs[i]);
            printf(",reason=\"%s\"} %" PRIu64 "\n", stk_bypass_name((enum stk_bypass)why),
                   look->runs[i]->view.counts.bypassed[why]);
        }
    }
}

static void write_buckets(const struct top_run *run)
{
    uint64_t count = 0;
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS - 1; bucket++) {
        count += run->view.counts.waits[bucket];
        begin_line("origin_wait_seconds_bucket", run);
        printf(",le=\"%g\"} %" PRIu64 "\n", (double)stk_waits_bound_us(bucket) / 1e6, count);
    }
    count += run->view.counts.waits[STK_WAITS_BUCKETS - 1];
    begin_line("origin_wait_seconds_bucket", run);
    printf(",le=\"+Inf\"} %" PRIu64 "\n", count);
    begin_line("origin_wait_seconds_sum", run);
    printf("} %.9g\n", (double)run->figures.total[STK_COUNT_WAIT_NS] / 1e9);
    begin_line("origin_wait_seconds_count", run);
    printf("} %" PRIu64 "\n", count);
}

static void write_waits(const struct top_look *look)
{
    write_head("origin_wait_seconds", "histogram", "How long opens waited for the origin.");
    for (unsigned i = 0; i < look->count; i++) {
        write_buckets(look->runs[i]);
    }
}

static void write_tier_hits(const struct top_look *look)
{
    write_head("tier_hits_total", "counter", "Opens served by a tier.");
    for (unsigned i = 0; i < look->count; i++) {
        for (unsigned tier = 0; tier < look->session.tier_count; tier++) {
            const struct stk_tier *from = &look->session.tiers[tier];
            begin_line("tier_hits_total", look->runs[i]);
            printf(",");
            write_label("tier", from->home);
            printf("} %" PRIu64 "\n", look->runs[i]->view.counts.tiers[from->index % STK_TIERS]);
        }
    }
}

/* ---- tiers ---- */

static int64_t budget_bytes(const struct stk_tier *tier)
{
    return tier->shared->budget.blocks * STK_BLOCK_BYTES;
}

static int64_t used_bytes(const struct stk_tier *tier)
{
    return (int64_t)holding_of(tier).used_bytes;
}

static int64_t budget_inodes(const struct stk_tier *tier)
{
    return tier->shared->budget.inodes;
}

static int64_t used_inodes(const struct stk_tier *tier)
{
    return tier->shared->budget.used_inodes;
}

static int64_t samples_bytes(const struct stk_tier *tier)
{
    return (int64_t)holding_of(tier).samples_bytes;
}

static int64_t aside_bytes(const struct stk_tier *tier)
{
    return (int64_t)holding_of(tier).aside_bytes;
}

static void write_of_tiers(const struct top_look *look, const char *name, const char *help,
                           int64_t (*read)(const struct stk_tier *tier))
{
    write_head(name, "gauge", help);
    for (unsigned i = 0; i < look->session.tier_count; i++) {
        printf("stoker_%s{", name);
        write_label("tier", look->session.tiers[i].home);
        printf("} %" PRId64 "\n", read(&look->session.tiers[i]));
    }
}

void top_write_prometheus(const struct top_look *now)
{
    write_info(now);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        write_metric(&metrics[i], now);
    }
    write_bypassed(now);
    write_waits(now);
    write_tier_hits(now);
    write_of_tiers(now, "tier_budget_bytes", "What a tier may hold.", budget_bytes);
    write_of_tiers(now, "tier_used_bytes", "What it holds, samples included.", used_bytes);
    write_of_tiers(now, "tier_budget_inodes", "The same of inodes.", budget_inodes);
    write_of_tiers(now, "tier_used_inodes", "The same of inodes.", used_inodes);
    write_of_tiers(now, "tier_samples_bytes", "What samples take of it.", samples_bytes);
    write_of_tiers(now, "tier_set_aside_bytes", "Of the budget, reserved for samples to come.",
                   aside_bytes);
}
