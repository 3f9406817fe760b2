/* Figures beside each other: epochs, times, waits. See cli/report_page.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/waits.h"
#include "cli/report_page.h"
#include "cli/say.h"

#define SHORTEST_S    0.05 /* less has no bar */
#define LEAST_COLUMNS 8

/* ---- epochs ---- */

static double rate(const struct stretch *stretch)
{
    return stretch->seconds > 0 ? (double)stretch->count / stretch->seconds : 0;
}

/* "32", or "32-200, each". The caller frees. */
static char *number_text(const struct figures *figures, unsigned n)
{
    return figures_rounds(figures, n) > 1 ? must_format("%u-%u, each", n + 1, figures->epochs)
                                          : must_format("%u", n + 1);
}

/* The n-th pass of the loader that gave the most, or each of those that are counted as the n-th; or
 * the n-th opens of files. */
static void read_epoch(const struct figures *figures, unsigned n, struct stretch *out)
{
    unsigned rounds = figures_rounds(figures, n);
    if (figures->by_passes) {
        figures_pass(figures->session, figures->loader, n, out);
        out->seconds /= rounds;
        out->waited_s /= rounds;
        out->count /= rounds;
    } else {
        *out = (struct stretch){.seconds = figures_opens_s(figures->pulse, n),
                                .count = figures->counts->epochs[n][STK_COUNT_OPENS]};
    }
}

double report_epoch_begin(const struct recorded *run, unsigned n)
{
    struct stk_tally_pass pass = {0};
    const struct figures *figures = run->figures;
    if (figures->by_passes) {
        stk_tally_read_pass(figures->session->tally, figures->loader, n, &pass);
    }
    return pass.begins > 0 ? ((double)pass.begun_ns - (double)run->passes_ns) / 1e9 : -1;
}

static void put_epoch_bar(FILE *out, const struct figures *figures, unsigned n, double most)
{
    struct stretch epoch;
    read_epoch(figures, n, &epoch);
    double waited = epoch.seconds > 0 ? epoch.waited_s / epoch.seconds : 0;
    waited = waited < 1 ? waited : 1;
    const struct page_part parts[] = {{"cache", epoch.seconds * (1 - waited)},
                                      {"wait", epoch.seconds * waited}};
    char *number = number_text(figures, n);
    char *name = must_format("%s%s %s", figures->by_passes ? "Epoch" : "Open",
                             figures_rounds(figures, n) > 1 ? "s" : "", number);
    char *wait =
        figures->by_passes ? must_format(", %.0f%% of it waiting", 100 * waited) : must_copy("");
    char *text = must_format("%.1f s%s; %.0f %s per second", epoch.seconds, wait, rate(&epoch),
                             figures->by_passes ? "samples" : "files");
    page_bar(out, &(struct page_bar){.name = name, .text = text, .parts = parts, .count = 2}, most);
    free(text);
    free(wait);
    free(name);
    free(number);
}

static void put_epoch_row(FILE *out, const struct figures *figures, unsigned n)
{
    struct stretch epoch;
    char *number = number_text(figures, n);
    read_epoch(figures, n, &epoch);
    fprintf(out,
            "<tr><td>%s</td><td>%.2f</td><td>%" PRIu64 "</td><td>%.1f</td><td>%.2f</td></tr>\n",
            number, epoch.seconds, epoch.count, rate(&epoch), epoch.waited_s);
    free(number);
}

void report_epochs(FILE *out, const struct recorded *run)
{
    const struct figures *figures = run->figures;
    double most = 0;
    for (unsigned n = 0; n < figures->passes; n++) {
        struct stretch epoch;
        read_epoch(figures, n, &epoch);
        most = epoch.seconds > most ? epoch.seconds : most;
    }
    if (most <= 0 || (!figures->by_passes && most < REPORT_RATED_S)) {
        return;
    }
    page_begin(out, "epochs", figures->by_passes ? "Epochs compared" : "Opens compared",
               figures->by_passes
                   ? "How long each pass over the data took, and how much of that the job waited "
                     "for its next batch. The first epoch reads the origin and fills the cache; "
                     "shorter is better."
                   : "No DataLoader of torch told when an epoch began, so this is how long the "
                     "first opens of all files took, the second opens, and so on.");
    if (figures->by_passes) {
        fputs("<div class=\"keys\"><span class=\"cache\"><i></i>at work</span><span "
              "class=\"wait\"><i></i>waiting for data</span></div>\n",
              out);
    }
    for (unsigned n = 0; n < figures->passes; n++) {
        put_epoch_bar(out, figures, n, most);
    }
    page_begin_table(out, figures->by_passes ? "Epoch|Seconds|Samples|Samples per s|Waited, s"
                                             : "Open|Seconds|Files|Files per s|Waited, s");
    for (unsigned n = 0; n < figures->passes; n++) {
        put_epoch_row(out, figures, n);
    }
    page_end_table(out);
    page_end(out);
}

/* ---- times ---- */

struct kind {
    const char *class, *name, *note;
    double seconds;
};

/* What workers had to themselves: they were there, and had nothing to do. */
static double idle_s(const struct figures *figures)
{
    double there = figures->first.seconds * (double)figures->first.workers +
                   figures->later.seconds * (double)figures->later.workers;
    return there > figures->fetch_s ? there - figures->fetch_s : 0;
}

static void put_kind(FILE *out, const struct kind *kind, double most, double sum)
{
    char seconds[PAGE_TEXT];
    const struct page_part part = {kind->class, kind->seconds};
    char *text = must_format("%s, %.0f%%", page_seconds(seconds, kind->seconds),
                             percent(kind->seconds, sum));
    page_bar(out,
             &(struct page_bar){
                 .name = kind->name, .note = kind->note, .text = text, .parts = &part, .count = 1},
             most);
    free(text);
}

/* The same in the first epoch and in the others, told by what was counted when the second began. */
struct split {
    const char *name;
    struct page_part parts[5];
    double sum;
};

static double seconds_between(const struct series *series, enum series_sum sum, int64_t from_ns,
                              int64_t to_ns)
{
    return (series_at(series, sum, to_ns) - series_at(series, sum, from_ns)) / 1e9;
}

static void fill_split(struct split *split, const char *name, const struct series *series,
                       int64_t from_ns, int64_t to_ns)
{
    static const struct {
        const char *class;
        enum series_sum sum;
    } counted[] = {{"origin", SERIES_ORIGIN},
                   {"decode", SERIES_DECODE},
                   {"resize", SERIES_RESIZE},
                   {"batches", SERIES_COLLATE}};
    double rest = seconds_between(series, SERIES_FETCH, from_ns, to_ns);
    *split = (struct split){.name = name};
    for (unsigned i = 0; i < 4; i++) {
        double seconds = seconds_between(series, counted[i].sum, from_ns, to_ns);
        split->parts[i] = (struct page_part){counted[i].class, seconds};
        split->sum += seconds;
        rest -= seconds;
    }
    split->parts[4] = (struct page_part){"other", rest > 0 ? rest : 0};
    split->sum += split->parts[4].value;
}

static void put_split(FILE *out, const struct split *split, double most)
{
    char seconds[PAGE_TEXT];
    char *text = must_format("%s at work", page_seconds(seconds, split->sum));
    page_bar(
        out,
        &(struct page_bar){.name = split->name, .text = text, .parts = split->parts, .count = 5},
        most);
    free(text);
}

static void put_splits(FILE *out, const struct recorded *run)
{
    struct split first, later;
    double second_s = run->figures->passes > 1 ? report_epoch_begin(run, 1) : -1;
    if (!run->figures->by_passes || second_s < 0 || run->figures->fetch_s <= 0) {
        return;
    }
    int64_t second_ns = (int64_t)(second_s * 1e9);
    fill_split(&first, "In epoch 1", &run->series, 0, second_ns);
    fill_split(&later, "In later epochs", &run->series, second_ns, INT64_MAX);
    fputs("<h3 class=\"above\">First epoch and later ones</h3>\n", out);
    put_split(out, &first, first.sum > later.sum ? first.sum : later.sum);
    put_split(out, &later, first.sum > later.sum ? first.sum : later.sum);
}

static void put_kinds(FILE *out, const struct kind *kinds, unsigned count)
{
    double most = 0, sum = 0;
    for (unsigned i = 0; i < count; i++) {
        most = kinds[i].seconds > most ? kinds[i].seconds : most;
        sum += kinds[i].seconds;
    }
    for (unsigned i = 0; i < count; i++) {
        if (kinds[i].seconds >= SHORTEST_S) {
            put_kind(out, &kinds[i], most, sum);
        }
    }
    page_begin_table(out, "What|Seconds|Share");
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "<tr><td>%s</td><td>%.2f</td><td>%.1f%%</td></tr>\n", kinds[i].name,
                kinds[i].seconds, percent(kinds[i].seconds, sum));
    }
    page_end_table(out);
}

static void put_uploads(FILE *out, const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    uint64_t batches = figures_tallied(figures->session, STK_TALLY_UPLOADS);
    if (batches > 0) {
        fprintf(out,
                "<p class=\"note\">%" PRIu64 " batches (%s) were sent to the GPU, for which its "
                "steps waited %.1f s.</p>\n",
                batches, size_text(size, figures_tallied(figures->session, STK_TALLY_UPLOAD_BYTES)),
                figures->upload_s);
    }
}

void report_work(FILE *out, const struct recorded *run)
{
    const struct figures *figures = run->figures;
    const struct kind kinds[] = {
        {"origin", "Origin",
         "Waiting for files that were not in the cache yet, or to hear that one has not changed.",
         figures->origin_s},
        {"decode", "Decoding", "From a JPEG's bytes, or its sample, to pixels.", figures->decode_s},
        {"resize", "Resizing", "Images that Pillow had decoded.", figures->resize_s},
        {"batches", "Batching", "Laying samples side by side, as one batch.", figures->collate_s},
        {"other", "Cache, transforms",
         "The rest of making batches: reading what is cached, and the data set's own code.",
         figures->other_s},
        {"idle", "Idle", "Workers that had nothing to do: the job was not done with their batches.",
         idle_s(figures)},
    };
    unsigned count = figures->fetch_s > 0 ? sizeof kinds / sizeof *kinds : 1;
    if (figures->fetch_s <= 0 && figures->origin_s <= 0) {
        return;
    }
    page_begin(
        out, "work", "Where the time went",
        "Seconds of all processes added up: four workers that are busy for ten seconds "
        "count forty. Workers are the processes that make a DataLoader's batches, or the threads "
        "of a stoker.Loader over paths.");
    put_kinds(out, kinds, count);
    put_splits(out, run);
    if (figures->by_passes) {
        fprintf(out,
                "<p class=\"note\">The job itself waited %.1f s for its batches, of the %.1f s of "
                "its epochs.</p>\n",
                figures->first.waited_s + figures->later.waited_s,
                figures->first.seconds + figures->later.seconds);
    }
    put_uploads(out, figures);
    page_end(out);
}

/* ---- waits ---- */

static const char *microseconds(char out[PAGE_TEXT], uint64_t us)
{
    if (us < 1000) {
        snprintf(out, PAGE_TEXT, "%" PRIu64 " &#181;s", us);
    } else if (us < 1000000) {
        snprintf(out, PAGE_TEXT, us < 10000 ? "%.1f ms" : "%.0f ms", (double)us / 1e3);
    } else {
        snprintf(out, PAGE_TEXT, "%.1f s", (double)us / 1e6);
    }
    return out;
}

/* From the first bucket that holds any to the last, both included; with some beside them where they
 * are few, since a column alone tells nothing. */
static unsigned range(const uint64_t waits[STK_WAITS_BUCKETS], unsigned *first)
{
    unsigned end = 0;
    *first = STK_WAITS_BUCKETS;
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS; bucket++) {
        if (waits[bucket] > 0) {
            *first = bucket < *first ? bucket : *first;
            end = bucket + 1;
        }
    }
    while (end > 0 && end - *first < LEAST_COLUMNS) {
        *first -= *first > 0;
        end += end < STK_WAITS_BUCKETS;
    }
    return end;
}

static void name_bucket(char out[2 * PAGE_TEXT], unsigned bucket)
{
    char text[PAGE_TEXT];
    if (bucket < STK_WAITS_BUCKETS - 1) {
        snprintf(out, 2 * PAGE_TEXT, "up to %s", microseconds(text, stk_waits_bound_us(bucket)));
    } else {
        snprintf(out, 2 * PAGE_TEXT, "above %s",
                 microseconds(text, stk_waits_bound_us(bucket - 1)));
    }
}

static void put_columns(FILE *out, const uint64_t *waits, unsigned first, unsigned end, double top)
{
    char name[2 * PAGE_TEXT];
    double width = 1000.0 / (end - first);
    for (unsigned bucket = first; bucket < end; bucket++) {
        double height = PAGE_HEIGHT * (double)waits[bucket] / top;
        name_bucket(name, bucket);
        fprintf(out,
                "<rect class=\"block origin\" data-count=\"%" PRIu64
                "\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%s: %" PRIu64
                " opens</title></rect>",
                waits[bucket], (bucket - first + 0.08) * width, PAGE_HEIGHT - height, 0.84 * width,
                height, name, waits[bucket]);
    }
}

/* The bound between two columns stands under it; as many as there is room for. */
static void put_bounds(FILE *out, unsigned first, unsigned end)
{
    char text[PAGE_TEXT];
    unsigned count = end - first, each = (count + 4) / 5;
    fputs("<div class=\"x\" aria-hidden=\"true\">", out);
    for (unsigned i = each; i <= count && first + i <= STK_WAITS_BUCKETS - 1; i += each) {
        fprintf(out, "<span%s style=\"left:%.2f%%\">%s</span>",
                i * 100 > count * 94 ? " class=\"last\"" : "", 100.0 * i / count,
                microseconds(text, stk_waits_bound_us(first + i - 1)));
    }
    fputs("</div>", out);
}

static void put_histogram(FILE *out, const uint64_t *waits, unsigned first, unsigned end)
{
    uint64_t most = 0;
    for (unsigned bucket = first; bucket < end; bucket++) {
        most = waits[bucket] > most ? waits[bucket] : most;
    }
    struct page_axis axis = page_axis(most > 4 ? (double)most : 4, 1, 4);
    fputs("<figure id=\"histogram\"><div class=\"frame\"><div class=\"epochs\"></div><div "
          "class=\"y\" aria-hidden=\"true\">",
          out);
    for (unsigned i = 0; i <= axis.steps; i++) {
        fprintf(out, "<span style=\"bottom:%.2f%%\">%.0f</span>", 100.0 * i / axis.steps,
                i * axis.step);
    }
    fprintf(out,
            "</div><svg viewBox=\"0 0 1000 200\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-labelledby=\"waits-t waits-d\" data-top=\"%.0f\"><title id=\"waits-t\">Opens by "
            "how long they waited for the origin</title><desc id=\"waits-d\">Each column is wider "
            "in time than the one before it; the highest has %" PRIu64 " opens.</desc>",
            axis.top, most);
    page_grid(out, &axis);
    put_columns(out, waits, first, end, axis.top);
    fputs("</svg>", out);
    put_bounds(out, first, end);
    fputs("</div></figure>\n", out);
}

void report_waits(FILE *out, const struct recorded *run)
{
    char half[PAGE_TEXT], nearly_all[PAGE_TEXT], name[2 * PAGE_TEXT];
    const uint64_t *waits = run->figures->counts->waits;
    unsigned first, end = range(waits, &first);
    if (end == 0) {
        return;
    }
    page_begin(out, "waits", "How long the origin took",
               "Opens of files that were not cached yet, by how long each waited until it had its "
               "file. A column counts those that waited up to the time at its right edge, and "
               "longer than the column to its left.");
    fprintf(out,
            "<p>Half of them took no longer than <b>%s</b>, and 99 of 100 no longer than "
            "<b>%s</b>.</p>\n",
            microseconds(half, stk_waits_percentile_us(waits, 50)),
            microseconds(nearly_all, stk_waits_percentile_us(waits, 99)));
    put_histogram(out, waits, first, end);
    page_begin_table(out, "Waited|Opens");
    for (unsigned bucket = first; bucket < end; bucket++) {
        name_bucket(name, bucket);
        fprintf(out, "<tr><td>%s</td><td>%" PRIu64 "</td></tr>\n", name, waits[bucket]);
    }
    page_end_table(out);
    page_end(out);
}
