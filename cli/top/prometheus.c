#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/out/older_names.h"
#include "cli/out/sanitise.h"
#include "cli/out/say.h"
#include "cli/summary/bypass_text.h"
#include "cli/summary/metrics.h"
#include "cli/tiers/usage.h"
#include "cli/top/top.h"

/* ---- labels ---- */

static void write_label(const char *name, const char *value)
{
    printf("%s=\"", name);
    OWNED char *line = sanitise_line(must_copy(value));
    for (const char *at = line; *at != '\0'; at++) {
        printf(*at == '\\' || *at == '"' ? "\\%c" : "%c", *at);
    }
    putchar('"');
}

/* A family of lines, which is written once more under its older name if it has one. */
typedef void write_lines_function(const char *name, const struct top_look *look, const void *what);

static void write_head(const char *name, const char *type, const char *help)
{
    printf("# HELP stoker_%s %s\n# TYPE stoker_%s %s\n", name, help, name, type);
}

static void write_family(const char *name, const char *type, const char *help,
                         write_lines_function *write_lines, const struct top_look *look,
                         const void *what)
{
    const char *older = older_name(name);
    write_head(name, type, help);
    write_lines(name, look, what);
    if (older != NULL) {
        write_head(older, type, help);
        write_lines(older, look, what);
    }
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

static void write_counted(const char *name, const struct top_look *look, const void *what)
{
    const struct metric *metric = what;
    for (unsigned i = 0; i < look->count; i++) {
        begin_line(name, look->runs[i]);
        printf("} %" PRIu64 "\n", metric->read(&look->runs[i]->figures, metric->which));
    }
}

static void write_metrics(const struct top_look *look)
{
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        write_computed(&computed[i], look);
    }
    for (unsigned i = 0; i < metrics_count; i++) {
        const struct metric *metric = &metrics_table[i];
        if (metric->prometheus != NULL) {
            write_family(metric->prometheus, type_of(metric->prometheus), metric->help,
                         write_counted, look, metric);
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

static void write_reasons(const char *name, const struct top_look *look,
                          const char *(*reason_of)(enum stk_bypass why))
{
    write_head(name, "counter", "Opens of files that were not cached, by reason.");
    for (unsigned i = 0; i < look->count; i++) {
        for (int why = 1; why < STK_BYPASS_KINDS; why++) {
            begin_line(name, look->runs[i]);
            printf(",reason=\"%s\"} %" PRIu64 "\n", reason_of((enum stk_bypass)why),
                   look->runs[i]->view.counts.bypassed[why]);
        }
    }
}

/* Writes a line of a histogram, up to its further labels. */
static void begin_part(const char *name, const char *part, const struct top_run *run)
{
    char both[64];
    snprintf(both, sizeof both, "%s_%s", name, part);
    begin_line(both, run);
}

static void write_buckets(const char *name, const struct top_run *run)
{
    uint64_t count = 0;
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS - 1; bucket++) {
        count += run->view.counts.waits[bucket];
        begin_part(name, "bucket", run);
        printf(",le=\"%g\"} %" PRIu64 "\n", (double)stk_waits_bound_us(bucket) / 1e6, count);
    }
    count += run->view.counts.waits[STK_WAITS_BUCKETS - 1];
    begin_part(name, "bucket", run);
    printf(",le=\"+Inf\"} %" PRIu64 "\n", count);
    begin_part(name, "sum", run);
    printf("} %.9g\n", (double)run->figures.total[STK_COUNT_WAIT_NS] / 1e9);
    begin_part(name, "count", run);
    printf("} %" PRIu64 "\n", count);
}

static void write_waits(const char *name, const struct top_look *look, const void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < look->count; i++) {
        write_buckets(name, look->runs[i]);
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

static void write_tiers(const char *name, const struct top_look *look, const void *what)
{
    for (unsigned i = 0; i < look->session.tier_count; i++) {
        const struct stk_tier *tier = &look->session.tiers[i];
        const struct usage usage = usage_of(tier);
        printf("stoker_%s{", name);
        write_label("tier", tier->home);
        printf("} %" PRId64 "\n", usage_read(&usage, what));
    }
}

static void write_usage(const struct top_look *look)
{
    for (unsigned row = 0; row < USAGE_FIGURES; row++) {
        char name[64];
        snprintf(name, sizeof name, "tier_%s", usage_table[row].name);
        write_family(name, "gauge", usage_table[row].help, write_tiers, look, &usage_table[row]);
    }
}

void top_write_prometheus(const struct top_look *now)
{
    write_info(now);
    write_metrics(now);
    write_reasons("not_cached_total", now, bypassed_key);
    write_reasons("bypassed_total", now, stk_bypass_name); /* the older names */
    write_family("storage_wait_seconds", "histogram", "How long opens waited for storage.",
                 write_waits, now, NULL);
    write_tier_hits(now);
    write_usage(now);
}
