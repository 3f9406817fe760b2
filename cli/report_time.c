/* Plots over time. See cli/report_page.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/report_page.h"
#include "cli/say.h"

#define MOST_BINS   120
#define TICKS       4
#define MOST_LAYERS 2
#define APART       0.08 /* of the width: labels that are closer would touch */

/* ---- moments ---- */

/* What went on between two moments. */
struct bin {
    double from_s, to_s;
    double sums[SERIES_SUMS]; /* times in seconds */
};

struct bins {
    unsigned count;
    double seconds; /* of all */
    struct bin bins[MOST_BINS];
};

static void fill_bin(struct bin *bin, const struct series_point *before,
                     const struct series_point *after)
{
    bin->from_s = (double)before->at_ns / 1e9;
    bin->to_s = (double)after->at_ns / 1e9;
    for (int sum = 0; sum < SERIES_SUMS; sum++) {
        double more = (double)(after->sums[sum] - before->sums[sum]);
        bin->sums[sum] = sum < SERIES_WAITED ? more : more / 1e9;
    }
}

static void make_bins(const struct series *series, struct bins *out)
{
    static const struct series_point nothing;
    const struct series_point *before = &nothing;
    unsigned each = (series->count + MOST_BINS - 1) / MOST_BINS;
    out->count = 0;
    for (unsigned i = 0; i < series->count; i += each) {
        unsigned last = i + each <= series->count ? i + each - 1 : series->count - 1;
        fill_bin(&out->bins[out->count++], before, &series->points[last]);
        before = &series->points[last];
    }
    out->seconds = (double)before->at_ns / 1e9;
}

static double per_second(const struct bin *bin, enum series_sum sum)
{
    return bin->sums[sum] / (bin->to_s - bin->from_s);
}

/* Whether a pass of the loader that the epochs are of was under way. */
static bool is_in_epoch(const struct recorded *run, double at_s)
{
    const struct figures *figures = run->figures;
    for (unsigned n = 0; n < figures->passes; n++) {
        struct stk_tally_pass pass = {0};
        stk_tally_read_pass(figures->session->tally, figures->loader, n, &pass);
        double end_s = ((double)pass.ended_ns - (double)run->passes_ns) / 1e9;
        if (at_s >= report_epoch_begin(run, n) && at_s < end_s) {
            return true;
        }
    }
    return false;
}

/* Samples come by the batch: a moment of an epoch that had none belongs to the batch that came
 * next, or the plot would show how often somebody looked. */
static void join_empty(struct bins *bins, enum series_sum sum, const struct recorded *run)
{
    unsigned count = 0;
    for (unsigned i = 0; i < bins->count; i++) {
        struct bin *last = &bins->bins[count];
        bool joins = count > 0 && last[-1].sums[sum] <= 0 && is_in_epoch(run, last[-1].from_s);
        if (joins) {
            last[-1].to_s = bins->bins[i].to_s;
            last[-1].sums[sum] = bins->bins[i].sums[sum];
        } else {
            *last = bins->bins[i];
            count++;
        }
    }
    bins->count = count;
}

/* ---- plots ---- */

/* Layers that lie on each other. */
struct layer {
    const char *class, *name; /* name: for programs */
    double values[MOST_BINS];
};
struct plot {
    const char *id, *heading, *about;
    const char *const *keys; /* "class", "what it is", ..., NULL; NULL: none */
    unsigned layers;
    struct layer layer[MOST_LAYERS];
    struct page_axis axis;
    bool bytes, percents;
};

static double stacked(const struct plot *plot, unsigned layers, unsigned bin)
{
    double sum = 0;
    for (unsigned i = 0; i < layers; i++) {
        sum += plot->layer[i].values[bin];
    }
    return sum;
}

static double highest(const struct plot *plot, const struct bins *bins)
{
    double most = 0;
    for (unsigned i = 0; i < bins->count; i++) {
        double value = stacked(plot, plot->layers, i);
        most = value > most ? value : most;
    }
    return most;
}

static void scale(struct plot *plot, const struct bins *bins)
{
    double most = highest(plot, bins), unit = 1;
    while (plot->bytes && unit * 1024 <= most) {
        unit *= 1024;
    }
    plot->axis = plot->percents ? (struct page_axis){.step = 25, .top = 100, .steps = 4}
                                : page_axis(most > 0 ? most : 1, unit, TICKS);
}

static const char *value_text(char out[STK_SIZE_TEXT], const struct plot *plot, double value)
{
    if (plot->bytes) {
        return size_text(out, (uint64_t)(value + 0.5));
    }
    snprintf(out, STK_SIZE_TEXT, plot->percents ? "%.0f%%" : value < 10 ? "%.3g" : "%.0f", value);
    return out;
}

static void put_keys(FILE *out, const char *const *keys)
{
    fputs("<div class=\"keys\">", out);
    for (; *keys != NULL; keys += 2) {
        fprintf(out, "<span class=\"%s\"><i></i>%s</span>", keys[0], keys[1]);
    }
    fputs("</div>", out);
}

static void put_y_axis(FILE *out, const struct plot *plot)
{
    char text[STK_SIZE_TEXT];
    fputs("<div class=\"y\" aria-hidden=\"true\">", out);
    for (unsigned i = 0; i <= plot->axis.steps; i++) {
        fprintf(out, "<span style=\"bottom:%.2f%%\">%s</span>", 100.0 * i / plot->axis.steps,
                value_text(text, plot, i * plot->axis.step));
    }
    fputs("</div>", out);
}

static double time_step(double seconds)
{
    static const double steps[] = {0.1,  0.2,   0.5,   1,     2,      5,     10,   15,
                                   30,   60,    120,   300,   600,    900,   1800, 3600,
                                   7200, 21600, 43200, 86400, 172800, 604800};
    unsigned i = 0;
    while (i + 1 < sizeof steps / sizeof *steps && steps[i] * 6 < seconds) {
        i++;
    }
    return steps[i];
}

static void put_x_axis(FILE *out, double seconds)
{
    char text[PAGE_TEXT];
    double step = time_step(seconds);
    fputs("<div class=\"x\" aria-hidden=\"true\">", out);
    for (unsigned i = 0; i * step <= seconds; i++) {
        double part = i * step / seconds;
        fprintf(out, "<span%s style=\"left:%.2f%%\">%s</span>",
                i == 0        ? " class=\"first\""
                : part > 0.94 ? " class=\"last\""
                              : "",
                100 * part, page_seconds(text, i * step));
    }
    fputs("</div>", out);
}

/* ---- epochs in it ---- */

static void put_epochs(FILE *out, const struct recorded *run, double seconds)
{
    double last = -1;
    fputs("<div class=\"epochs\" aria-hidden=\"true\">", out);
    for (unsigned n = 0; n < run->figures->passes; n++) {
        double part = report_epoch_begin(run, n) / seconds;
        if (part >= 0 && part <= 1 && (last < 0 || part - last > APART * (last == 0 ? 2 : 1))) {
            fprintf(out, "<span style=\"left:%.2f%%\">%s%u</span>", 100 * part,
                    last < 0 ? "epoch " : "", n + 1);
            last = part;
        }
    }
    fputs("</div>", out);
}

static void put_marks(FILE *out, const struct recorded *run, double seconds)
{
    for (unsigned n = 0; n < run->figures->passes; n++) {
        double part = report_epoch_begin(run, n) / seconds;
        if (part >= 0 && part <= 1) {
            fprintf(out, "<path class=\"mark\" data-epoch=\"%u\" d=\"M%.2f -8V%g\"/>", n + 1,
                    1000 * part, PAGE_HEIGHT);
        }
    }
}

/* ---- curves ---- */

static double x_of(const struct bins *bins, double at_s)
{
    return 1000 * at_s / bins->seconds;
}

static double y_of(const struct plot *plot, double value)
{
    return PAGE_HEIGHT * (1 - value / plot->axis.top);
}

/* Along its upper edge, and back along what it lies on. */
static void put_layer(FILE *out, const struct plot *plot, const struct bins *bins, unsigned layer)
{
    fprintf(out, "<path class=\"area %s\" data-name=\"%s\" d=\"M0 %.2f", plot->layer[layer].class,
            plot->layer[layer].name, y_of(plot, stacked(plot, layer, 0)));
    for (unsigned i = 0; i < bins->count; i++) {
        fprintf(out, "V%.2fH%.2f", y_of(plot, stacked(plot, layer + 1, i)),
                x_of(bins, bins->bins[i].to_s));
    }
    for (unsigned i = bins->count; i > 0; i--) {
        fprintf(out, "V%.2fH%.2f", y_of(plot, stacked(plot, layer, i - 1)),
                x_of(bins, bins->bins[i - 1].from_s));
    }
    fputs("Z\"/>", out);
}

/* A line with gaps where there is nothing to tell. */
static void put_line(FILE *out, const struct plot *plot, const struct bins *bins)
{
    bool open = false;
    fprintf(out, "<path class=\"line %s\" data-name=\"%s\" d=\"M0 0", plot->layer[0].class,
            plot->layer[0].name);
    for (unsigned i = 0; i < bins->count; i++) {
        bool any = bins->bins[i].sums[SERIES_OPENS] > 0;
        double y = y_of(plot, plot->layer[0].values[i]);
        if (any && open) {
            fprintf(out, "V%.2f", y);
        } else if (any) {
            fprintf(out, "M%.2f %.2f", x_of(bins, bins->bins[i].from_s), y);
        }
        if (any) {
            fprintf(out, "H%.2f", x_of(bins, bins->bins[i].to_s));
        }
        open = any;
    }
    fputs("\"/>", out);
}

/* What a pointer is told of a moment. */
static void put_hits(FILE *out, const struct plot *plot, const struct bins *bins)
{
    char from[PAGE_TEXT], to[PAGE_TEXT], text[STK_SIZE_TEXT];
    for (unsigned i = 0; i < bins->count; i++) {
        const struct bin *bin = &bins->bins[i];
        fprintf(out,
                "<rect class=\"hit\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"%g\"><title>%s to "
                "%s: ",
                x_of(bins, bin->from_s), x_of(bins, bin->to_s) - x_of(bins, bin->from_s),
                PAGE_HEIGHT, page_seconds(from, bin->from_s), page_seconds(to, bin->to_s));
        for (unsigned layer = 0; layer < plot->layers; layer++) {
            fprintf(out, "%s%s %s", layer > 0 ? ", " : "", plot->layer[layer].class,
                    value_text(text, plot, plot->layer[layer].values[i]));
        }
        fputs("</title></rect>", out);
    }
}

static void put_drawing(FILE *out, const struct plot *plot, const struct bins *bins,
                        const struct recorded *run)
{
    char most[STK_SIZE_TEXT], seconds[PAGE_TEXT];
    fprintf(out,
            "<svg viewBox=\"0 0 1000 %g\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-labelledby=\"%s-t %s-d\" data-top=\"%.6f\" data-seconds=\"%.6f\">"
            "<title id=\"%s-t\">%s</title><desc id=\"%s-d\">Over %s; the highest value is "
            "%s.</desc>",
            PAGE_HEIGHT, plot->id, plot->id, plot->axis.top, bins->seconds, plot->id, plot->heading,
            plot->id, page_seconds(seconds, bins->seconds),
            value_text(most, plot, highest(plot, bins)));
    page_grid(out, &plot->axis);
    if (plot->percents) {
        put_line(out, plot, bins);
    }
    for (unsigned layer = 0; layer < plot->layers && !plot->percents; layer++) {
        put_layer(out, plot, bins, layer);
    }
    put_marks(out, run, bins->seconds);
    put_hits(out, plot, bins);
    fputs("</svg>", out);
}

static void put_plot(FILE *out, struct plot *plot, const struct bins *bins,
                     const struct recorded *run)
{
    scale(plot, bins);
    fprintf(out, "<figure id=\"%s\"><figcaption><h3>%s</h3><p>%s</p></figcaption>", plot->id,
            plot->heading, plot->about);
    if (plot->keys != NULL) {
        put_keys(out, plot->keys);
    }
    fputs("<div class=\"frame\">", out);
    put_epochs(out, run, bins->seconds);
    put_y_axis(out, plot);
    put_drawing(out, plot, bins, run);
    put_x_axis(out, bins->seconds);
    fputs("</div></figure>\n", out);
}

/* ---- what is plotted ---- */

static void fill_layer(struct plot *plot, const char *class, const char *name,
                       const struct bins *bins, enum series_sum sum)
{
    struct layer *layer = &plot->layer[plot->layers++];
    layer->class = class;
    layer->name = name;
    for (unsigned i = 0; i < bins->count; i++) {
        layer->values[i] = per_second(&bins->bins[i], sum);
    }
}

static double total(const struct bins *bins, enum series_sum sum)
{
    double all = 0;
    for (unsigned i = 0; i < bins->count; i++) {
        all += bins->bins[i].sums[sum];
    }
    return all;
}

/* What tells best how fast the job went. */
static const struct speed {
    enum series_sum sum;
    const char *name, *heading, *about;
} speeds[] = {{SERIES_SAMPLES, "samples", "Samples per second",
               "A sample is one item of the data set, such as an image with its label, as "
               "DataLoaders handed them to the job."},
              {SERIES_READS, "block_reads", "Reads per second",
               "Reads of big files that were answered from the cache."},
              {SERIES_OPENS, "opens", "Files opened per second",
               "Opens of files below the covered paths, by all processes of the job."}};

static void put_speed(FILE *out, const struct bins *moments, const struct recorded *run)
{
    static struct plot plot;
    static struct bins bins;
    bool reads = total(moments, SERIES_READS) > total(moments, SERIES_OPENS);
    const struct speed *speed = &speeds[run->figures->by_passes ? 0 : reads ? 1 : 2];
    bins = *moments;
    if (run->figures->by_passes) {
        join_empty(&bins, SERIES_SAMPLES, run);
    }
    plot = (struct plot){.id = "speed", .heading = speed->heading, .about = speed->about};
    fill_layer(&plot, "cache", speed->name, &bins, speed->sum);
    put_plot(out, &plot, &bins, run);
}

static void put_hit_rate(FILE *out, const struct bins *bins, const struct recorded *run)
{
    static struct plot plot;
    plot = (struct plot){.id = "hits",
                         .heading = "Files opened from the cache",
                         .about = "The hit rate: of all opens at that moment, those that the cache "
                                  "answered. There is a gap where nothing was opened.",
                         .percents = true};
    fill_layer(&plot, "cache", "hits", bins, SERIES_HITS);
    for (unsigned i = 0; i < bins->count; i++) {
        plot.layer[0].values[i] =
            percent(bins->bins[i].sums[SERIES_HITS], bins->bins[i].sums[SERIES_OPENS]);
    }
    put_plot(out, &plot, bins, run);
}

static void put_bytes(FILE *out, const struct bins *bins, const struct recorded *run)
{
    static const char *const keys[] = {"origin", "from the origin", "cache", "from the cache",
                                       NULL};
    static struct plot plot;
    plot = (struct plot){.id = "bytes",
                         .heading = "Bytes per second",
                         .about = "Whole files are counted when they are opened, big ones as they "
                                  "are read.",
                         .keys = keys,
                         .bytes = true};
    fill_layer(&plot, "origin", "bytes_origin", bins, SERIES_BYTES_ORIGIN);
    fill_layer(&plot, "cache", "bytes_cache", bins, SERIES_BYTES_CACHE);
    put_plot(out, &plot, bins, run);
}

/* ---- the same as a table ---- */

static void put_row(FILE *out, const struct bin *bin)
{
    char to[PAGE_TEXT], cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT];
    fprintf(out, "<tr><td>%s</td><td>%.1f</td><td>%.1f</td><td>", page_seconds(to, bin->to_s),
            per_second(bin, SERIES_SAMPLES), per_second(bin, SERIES_OPENS));
    if (bin->sums[SERIES_OPENS] > 0) {
        fprintf(out, "%.1f%%", percent(bin->sums[SERIES_HITS], bin->sums[SERIES_OPENS]));
    }
    fprintf(out, "</td><td>%s</td><td>%s</td></tr>\n",
            size_text(origin, (uint64_t)per_second(bin, SERIES_BYTES_ORIGIN)),
            size_text(cache, (uint64_t)per_second(bin, SERIES_BYTES_CACHE)));
}

void report_time(FILE *out, const struct recorded *run)
{
    static struct bins bins;
    make_bins(&run->series, &bins);
    if (bins.count == 0 || bins.seconds <= 0) {
        return;
    }
    page_begin(out, "time", "Over time",
               run->figures->by_passes
                   ? "From the start of the command to its end. A dashed line is the beginning of "
                     "an epoch, which is one pass over the whole data set."
                   : "From the start of the command to its end.");
    put_speed(out, &bins, run);
    if (total(&bins, SERIES_OPENS) > total(&bins, SERIES_READS)) {
        put_hit_rate(out, &bins, run);
    }
    put_bytes(out, &bins, run);
    page_begin_table(out, "Until|Samples per s|Opens per s|From the cache|From the origin, per s|"
                          "From the cache, per s");
    for (unsigned i = 0; i < bins.count; i++) {
        put_row(out, &bins.bins[i]);
    }
    page_end_table(out);
    page_end(out);
}
