#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/out/sanitise.h"
#include "cli/out/say.h"
#include "cli/summary/bypass_text.h"
#include "cli/summary/rank_figures.h"
#include "cli/tiers/usage.h"
#include "cli/top/top.h"

enum { BAR = 26, TIME_TEXT = 32, MOST_EPOCHS = 4 };

/* The page consists of sections. None of them is shown in part. */
enum section { SECTION_RUN, SECTION_TIER };
struct sections {
    bool dense;                                        /* to save rows */
    unsigned count, starts[TOP_MOST_RUNS + STK_TIERS]; /* of the first line of each section */
    enum section kinds[TOP_MOST_RUNS + STK_TIERS];
};

/* ---- lines ---- */

static void add(struct top_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct top_page *page, const char *format, ...)
{
    char *line = MUST_FORMAT_REST(format);
    if (page->count < TOP_MOST_LINES) {
        page->lines[page->count++] = line;
    } else {
        free(line);
    }
}

static void begin_section(struct top_page *page, struct sections *sections, enum section kind)
{
    sections->starts[sections->count] = page->count;
    sections->kinds[sections->count++] = kind;
    if (!sections->dense) {
        add(page, "%s", "");
    }
}

/* Cuts a line that is too long, which then ends in dots. */
static void fit(char *line, unsigned columns)
{
    unsigned column = 0;
    char *end = line; /* where the dots would begin */
    sanitise_line(line);
    for (char *at = line; columns > 0 && *at != '\0'; at += stk_text_sequence(at)) {
        end = column + 3 <= columns ? at : end;
        if (++column > columns) {
            strcpy(end, "...");
            return;
        }
    }
}

/* ---- words ---- */

static const char *time_text(char out[TIME_TEXT], double seconds)
{
    unsigned long whole = seconds > 0 ? (unsigned long)seconds : 0;
    snprintf(out, TIME_TEXT, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    return out;
}

static const char *wait_text(char out[TIME_TEXT], uint64_t us)
{
    snprintf(out, TIME_TEXT,
             us < 1000      ? "%.0f us"
             : us < 1000000 ? "%.1f ms"
                            : "%.1f s",
             us < 1000      ? (double)us
             : us < 1000000 ? (double)us / 1e3
                            : (double)us / 1e6);
    return out;
}

/* Returns the filled places of a bar. Figures in shared memory may be anything. */
static unsigned places(double part, double all)
{
    double share = all > 0 ? part / all : 0;
    return share <= 0 ? 0 : share >= 1 ? BAR : (unsigned)(BAR * share + 0.5);
}

static const char *bar_text(char out[BAR + 1], double first, double second, double all)
{
    unsigned end = places(first, all), behind = places(first + second, all);
    for (unsigned i = 0; i < BAR; i++) {
        out[i] = *(i < end ? "=" : i < behind ? "-" : " ");
    }
    out[BAR] = '\0';
    return out;
}

/* Adds a run's title, with the pid of its command. */
static void add_title(struct top_page *page, const struct top_run *run)
{
    static const char *const states[] = {[TOP_LIVE] = "",
                                         [TOP_ORPHANED] = ", its stoker was killed",
                                         [TOP_OUTSIDE] = "",
                                         [TOP_ENDED] = ", ended"};
    char lasted[TIME_TEXT];
    time_text(lasted, run->figures.run_s);
    if (run->state == TOP_OUTSIDE) {
        add(page, "without `stoker run`, %s: programs with the variables of `stoker env`", lasted);
        return;
    }
    add(page, "run %.*s, %s%s: %s", (int)strcspn(run->name, "-"), run->name, lasted,
        states[run->state], run->view.title);
}

/* ---- a run, line by line ---- */

static double hit_rate(const struct top_run *run)
{
    const uint64_t *total = run->figures.total;
    return percent((double)total[STK_COUNT_HITS], (double)total[STK_COUNT_OPENS]);
}

static void add_hits(struct top_page *page, const struct top_run *run, const struct top_pace *pace)
{
    char now[TIME_TEXT] = "", files[FIGURES_FILES_TEXT];
    if (pace->known && pace->opens > 0) {
        snprintf(now, sizeof now, "; now %.1f%%", percent(pace->hits, pace->opens));
    }
    add(page, "  hits     %.1f%% of %" PRIu64 " opens%s%s", hit_rate(run),
        run->figures.total[STK_COUNT_OPENS], figures_files_text(files, &run->view.counts), now);
}

static void add_speed(struct top_page *page, const struct top_pace *pace)
{
    char cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT];
    if (pace->known) {
        add(page, "  opens    %.0f/s, of these %.0f/s filled", pace->opens, pace->fills);
        add(page, "  bytes    %s/s from the cache, %s/s from storage",
            size_text(cache, (uint64_t)pace->bytes_cache),
            size_text(origin, (uint64_t)pace->bytes_origin));
    }
}

static void add_ahead(struct top_page *page, const struct top_run *run)
{
    char size[STK_SIZE_TEXT];
    const struct figures *figures = &run->figures;
    const uint64_t *ahead = run->view.counts.ahead;
    if (ahead[STK_AHEAD_FILES] > 0) {
        add(page,
            "  ahead    " COUNTED " read (%s), %" PRIu64 " there in time, %" PRIu64 " ahead%s",
            COUNT_OF(ahead[STK_AHEAD_FILES], "file", "files"),
            size_text(size, ahead[STK_AHEAD_BYTES]), figures->there, figures_lead(figures),
            figures_limit_text(figures_ahead_limit(figures)));
    }
    if (ahead[STK_AHEAD_RANGES] > 0) {
        add(page, "  ahead    " COUNTED " of big files read (%s), by the page cache",
            COUNT_OF(ahead[STK_AHEAD_RANGES], "range", "ranges"),
            size_text(size, ahead[STK_AHEAD_RANGE_BYTES]));
    }
}

static void add_listings(struct top_page *page, const struct stk_run_counts *counts)
{
    uint64_t all = counts->listings_served + counts->listings_asked;
    if (all > 0) {
        add(page, "  listings %.1f%% of %" PRIu64 " from the cache",
            percent((double)counts->listings_served, (double)all), all);
    }
}

static uint64_t count_waits(const struct top_run *run)
{
    uint64_t count = 0;
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS; bucket++) {
        count += run->view.counts.waits[bucket];
    }
    return count;
}

static void add_origin(struct top_page *page, const struct top_run *run,
                       const struct top_pace *pace)
{
    char median[TIME_TEXT], most[TIME_TEXT], now[TIME_TEXT] = "";
    uint64_t count = count_waits(run);
    if (pace->known) {
        snprintf(now, sizeof now, "; now %.1f waiting", pace->waiting);
    }
    if (count > 0) {
        add(page, "  storage  p50 %s, p99 %s of %" PRIu64 " waits%s",
            wait_text(median, stk_waits_percentile_us(run->view.counts.waits, 50)),
            wait_text(most, stk_waits_percentile_us(run->view.counts.waits, 99)), count, now);
    }
}

static void add_bypassed(struct top_page *page, const struct stk_run_counts *counts)
{
    OWNED char *all = must_copy("");
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (counts->bypassed[why] > 0) {
            all = must_append(all, "%s%" PRIu64 " %s", *all != '\0' ? ", " : "",
                              counts->bypassed[why], bypassed_word(why));
        }
    }
    if (*all != '\0') {
        add(page, "  not cached %s", all);
    }
}

static void add_images(struct top_page *page, const struct top_run *run,
                       const struct top_pace *pace)
{
    char now[TIME_TEXT] = "";
    const struct session *session = &run->session;
    uint64_t images = figures_tallied(session, STK_TALLY_IMAGES);
    if (pace->known) {
        snprintf(now, sizeof now, ", %.0f/s", pace->images);
    }
    if (images > 0) {
        add(page,
            "  images   %" PRIu64 " decoded%s; %" PRIu64 " from decoded copies; %" PRIu64
            " copies kept",
            images, now, figures_tallied(session, STK_TALLY_FROM_FORMS),
            figures_tallied(session, STK_TALLY_FORMS));
    }
}

static void add_loader(struct top_page *page, const struct top_run *run,
                       const struct top_pace *pace)
{
    struct stk_tally_pass pass;
    if (top_epoch(run, &pass) > 0 && pace->known) {
        add(page,
            "  loader   %.0f samples/s, %.1f batches/s; waits %.0f%% of the time, %" PRIu64
            " workers",
            pace->samples, pace->batches, 100 * pace->starved, pass.workers);
    }
}

static void add_ranks(struct top_page *page, const struct top_run *run)
{
    OWNED char *text = rank_figures_text(&run->session);
    if (text != NULL) {
        add(page, "  ranks    %s", text);
    }
}

static void add_uploads(struct top_page *page, const struct top_run *run)
{
    char size[STK_SIZE_TEXT];
    uint64_t batches = figures_tallied(&run->session, STK_TALLY_UPLOADS);
    if (batches > 0) {
        add(page, "  to GPU   %s in %" PRIu64 " batches, steps waited %.1f s for them",
            size_text(size, figures_tallied(&run->session, STK_TALLY_UPLOAD_BYTES)), batches,
            run->figures.upload_s);
    }
}

static void add_pass(struct top_page *page, const struct top_run *run)
{
    char bar[BAR + 1];
    struct stk_tally_pass pass;
    unsigned number = top_epoch(run, &pass);
    if (number > 0 && pass.expected >= pass.batches && pass.expected > 0) {
        add(page, "  epoch %-2u [%s] %" PRIu64 " of %" PRIu64 " batches, %" PRIu64 " samples",
            number, bar_text(bar, (double)pass.batches, 0, (double)pass.expected), pass.batches,
            pass.expected, pass.samples);
    } else if (number > 0) {
        add(page, "  epoch %-2u %" PRIu64 " batches, %" PRIu64 " samples", number, pass.batches,
            pass.samples);
    }
}

/* Adds the latest passes, each with its number. The last counted pass contains all later ones. */
static void add_passes(struct top_page *page, const struct top_run *run)
{
    const struct figures *figures = &run->figures;
    OWNED char *all = must_copy("");
    unsigned number = figures->passes > MOST_EPOCHS ? figures->passes - MOST_EPOCHS : 0;
    for (; number < figures->passes; number++) {
        struct stretch pass;
        figures_pass(&run->session, figures->loader, number, &pass);
        double rate = pass.seconds > 0 ? (double)pass.count / pass.seconds : 0;
        all = must_append(all, "%s%u%s: %.0f/s", *all != '\0' ? ", " : "", number + 1,
                          number == STK_TALLY_PASSES - 1 ? " on" : "", rate);
    }
    add(page, "  epochs   %s", all);
}

/* Adds opens, for a run without a DataLoader to say when an epoch begins. */
static void add_opened(struct top_page *page, const struct top_run *run)
{
    OWNED char *all = must_copy("");
    for (unsigned n = 0; n < run->figures.opened && n < MOST_EPOCHS; n++) {
        all = must_append(all, "%s%" PRIu64, n > 0 ? ", " : "",
                          run->view.counts.epochs[n][STK_COUNT_OPENS]);
    }
    add(page, "  opened   for the first, second, ... time: %s%s", all,
        run->figures.opened > MOST_EPOCHS ? ", ..." : "");
}

static void add_run(struct top_page *page, const struct top_run *run, const struct top_pace *pace)
{
    add_title(page, run);
    add_hits(page, run, pace);
    add_speed(page, pace);
    add_listings(page, &run->view.counts);
    add_origin(page, run, pace);
    add_ahead(page, run);
    add_bypassed(page, &run->view.counts);
    add_images(page, run, pace);
    add_loader(page, run, pace);
    add_ranks(page, run);
    add_uploads(page, run);
    add_pass(page, run);
    if (run->figures.by_passes) {
        add_passes(page, run);
    } else if (run->figures.opened > 0) {
        add_opened(page, run);
    }
}

/* Adds a run in three lines. */
static void add_short_run(struct top_page *page, const struct top_run *run,
                          const struct top_pace *pace)
{
    add_title(page, run);
    add_hits(page, run, pace);
    if (run->figures.by_passes) {
        add_pass(page, run);
    } else {
        add_origin(page, run, pace);
    }
}

/* ---- tiers ---- */

/* Returns the opens that a tier served to the runs on the page. */
static uint64_t hits_of(const struct top_look *look, unsigned index)
{
    uint64_t hits = 0;
    for (unsigned i = 0; i < look->count; i++) {
        hits += look->runs[i]->view.counts.tiers[index % STK_TIERS];
    }
    return hits;
}

static void add_tier(struct top_page *page, const struct top_look *look,
                     const struct stk_tier *tier)
{
    char bar[BAR + 1], used[STK_SIZE_TEXT], allowed[STK_SIZE_TEXT], samples[STK_SIZE_TEXT],
        aside[STK_SIZE_TEXT];
    const struct usage usage = usage_of(tier);
    add(page, "tier %s served %" PRIu64 " opens%s%s", tier->home, hits_of(look, tier->index),
        usage.aside_bytes > 0 ? "; set aside " : "",
        usage.aside_bytes > 0 ? size_text(aside, usage.aside_bytes) : "");
    add(page, "  [%s] %s of %s, decoded copies (-) %s",
        bar_text(bar, (double)(usage.used_bytes - usage.samples_bytes), (double)usage.samples_bytes,
                 (double)usage.budget_bytes),
        size_text(used, usage.used_bytes), size_text(allowed, (uint64_t)usage.budget_bytes),
        size_text(samples, usage.samples_bytes));
}

/* ---- a page ---- */

static void add_head(struct top_page *page, const struct top_look *look, bool live, bool dense)
{
    const char *leave = live ? "; q leaves" : "";
    const char *cut = dense ? ", in short for want of rows" : "";
    if (look->living == 0) {
        add(page, "no run lives: begin one with `stoker run`; `stoker ls` shows the cache%s",
            leave);
    } else {
        add(page, "stoker top: %u %s, %u %s%s%s", look->living, plural(look->living, "run", "runs"),
            look->session.tier_count, plural(look->session.tier_count, "tier", "tiers"), cut,
            leave);
    }
}

static void compose(struct top_page *page, struct sections *sections, const struct top_look *now,
                    const struct top_look *before, bool live)
{
    struct top_pace pace;
    sections->count = 0;
    top_page_free(page);
    add_head(page, now, live, sections->dense);
    for (unsigned i = 0; i < now->count; i++) {
        begin_section(page, sections, SECTION_RUN);
        top_pace(now->runs[i], before, &pace);
        (sections->dense ? add_short_run : add_run)(page, now->runs[i], &pace);
    }
    for (unsigned i = 0; now->count > 0 && i < now->session.tier_count; i++) {
        begin_section(page, sections, SECTION_TIER);
        add_tier(page, now, &now->session.tiers[i]);
    }
}

/* Leaves out whole sections from the end, and adds how many. */
static void leave_out(struct top_page *page, const struct sections *sections, unsigned more,
                      unsigned rows)
{
    unsigned left[2] = {more, 0}, count = page->count;
    for (unsigned i = sections->count; i > 0 && count + 1 > rows; i--) {
        count = sections->starts[i - 1];
        left[sections->kinds[i - 1]]++;
    }
    while (page->count > count) {
        free(page->lines[--page->count]);
    }
    add(page, "left out for want of rows: %u %s, %u %s", left[SECTION_RUN],
        plural(left[SECTION_RUN], "run", "runs"), left[SECTION_TIER],
        plural(left[SECTION_TIER], "tier", "tiers"));
}

void top_page(struct top_page *page, const struct top_look *now, const struct top_look *before,
              unsigned columns, unsigned rows)
{
    struct sections sections = {.dense = false};
    compose(page, &sections, now, before, rows > 0);
    if (rows > 0 && page->count > rows) {
        sections.dense = true;
        compose(page, &sections, now, before, true);
    }
    if ((rows > 0 && page->count > rows) || now->more > 0) {
        leave_out(page, &sections, now->more, rows > 0 ? rows : TOP_MOST_LINES);
    }
    for (unsigned i = 0; i < page->count; i++) {
        fit(page->lines[i], columns);
    }
}

void top_page_free(struct top_page *page)
{
    while (page->count > 0) {
        free(page->lines[--page->count]);
    }
}
