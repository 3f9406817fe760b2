#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out/sanitise.h"
#include "cli/out/say.h"
#include "cli/summary/metrics.h"
#include "cli/tiers/usage.h"
#include "cli/top/top.h"

/* ---- labels ---- */

static void write_label(const char *name, const char *value)
{
    printf("%s=\"", name);
    char *line = sanitise_line(must_copy(value));
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

/* Writes the beginning of a line, up to its labels. Further labels may follow. */
static void begin_line(const char *name, const struct top_run *run)
{
    printf("stoker_%s{", name);
    write_label("run", run->name);
}

/* ---- metrics with one value for each run ---- */

static double read_seconds(const struct top_run *run)
{
    return run->figures.run_s;
}

/* Returns the passes of the loader that gave the most samples. */
static double read_passes(const struct top_run *run)
{
    struct stk_tally_pass pass;
    return (double)top_epoch(run, &pass);
}

static double read_samples(const struct top_run *run)
{
    const struct figures *figures = &run->figures;
    return figures->by_passes ? (double)(figures->first.count + figures->later.count) : 0;
}

static double read_waited(const struct top_run *run)
{
    return run->figures.first.waited_s + run->figures.later.waited_s;
}

static double read_uploaded(const struct top_run *run)
{
    return run->figures.upload_s;
}

/* Figures that are computed from counters. The counters themselves are in cli/summary/metrics.h. */
static const struct computed {
    const char *name, *help;
    double (*read)(const struct top_run *run);
} computed[] = {
    {"run_seconds", "Time since the run began.", read_seconds},
    {"loader_passes", "Passes (epochs) of the DataLoader that gave the most samples.", read_passes},
    {"loader_samples_total", "Samples that it gave.", read_samples},
    {"loader_wait_seconds_total", "Time that it was waited for.", read_waited},
    {"upload_wait_seconds_total", "Time that steps waited for uploads.", read_uploaded},
};

static const char *type_of(const char *name)
{
    size_t length = strlen(name);
    return length > 6 && strcmp(name + length - 6, "_total") == 0 ? "counter" : "gauge";
}

static void write_computed(const struct computed *metric, const struct top_look *look)
{
    write_head(metric->name, type_of(metric->name), metric->help);
    for (unsigned i = 0; i < look->count; i++) {
        begin_line(metric->name, look->runs[i]);
        printf("} %.15g\n", metric->read(look->runs[i]));
    }
}

static void write_counted(const struct metric *metric, const struct top_look *look)
{
    write_head(metric->prometheus, type_of(metric->prometheus), metric->help);
    for (unsigned i = 0; i < look->count; i++) {
        begin_line(metric->prometheus, look->runs[i]);
        printf("} %" PRIu64 "\n", metric->read(&look->runs[i]->figures, metric->which));
    }
}

static void write_metrics(const struct top_look *look)
{
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        write_computed(&computed[i], look);
    }
    for (unsigned i = 0; i < metrics_count; i++) {
        if (metrics_table[i].prometheus != NULL) {
            write_counted(&metrics_table[i], look);
        }
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
    write_head("bypassed_total", "counter", "Opens of files that were not cached, by reason.");
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
    write_head("origin_wait_seconds", "histogram", "How long opens waited for storage.");
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

static void write_tier_line(const struct usage_figure *figure, const struct stk_tier *tier)
{
    const struct usage usage = usage_of(tier);
    printf("stoker_tier_%s{", figure->name);
    write_label("tier", tier->home);
    printf("} %" PRId64 "\n", usage_read(&usage, figure));
}

static void write_usage(const struct top_look *look)
{
    for (unsigned row = 0; row < USAGE_FIGURES; row++) {
        char name[64];
        snprintf(name, sizeof name, "tier_%s", usage_table[row].name);
        write_head(name, "gauge", usage_table[row].help);
        for (unsigned i = 0; i < look->session.tier_count; i++) {
            write_tier_line(&usage_table[row], &look->session.tiers[i]);
        }
    }
}

void top_write_prometheus(const struct top_look *now)
{
    write_info(now);
    write_metrics(now);
    write_bypassed(now);
    write_waits(now);
    write_tier_hits(now);
    write_usage(now);
}
