#include "cli/report/series.h"

#include <stdbool.h>

#include "base/clock.h"

#define FIRST_STEP_NS (STK_NS_PER_S / 5)

static const char *const names[SERIES_SUMS] = {
    [SERIES_OPENS] = "opens",
    [SERIES_HITS] = "hits",
    [SERIES_READS] = "block_reads",
    [SERIES_BYTES_CACHE] = "bytes_cache",
    [SERIES_BYTES_ORIGIN] = "bytes_origin",
    [SERIES_SAMPLES] = "samples",
    [SERIES_WAITED] = "waited_s",
    [SERIES_ORIGIN] = "origin_s",
    [SERIES_DECODE] = "decode_s",
    [SERIES_RESIZE] = "resize_s",
    [SERIES_COLLATE] = "batches_s",
    [SERIES_FETCH] = "fetch_s",
};

/* ---- sums ---- */

static void add_opens(uint64_t sums[SERIES_SUMS], const struct stk_run_counts *counts)
{
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        const uint64_t *row = counts->epochs[epoch];
        sums[SERIES_OPENS] += row[STK_COUNT_OPENS];
        sums[SERIES_HITS] += row[STK_COUNT_HITS];
        sums[SERIES_BYTES_CACHE] += row[STK_COUNT_BYTES_CACHE];
        sums[SERIES_BYTES_ORIGIN] += row[STK_COUNT_BYTES_ORIGIN];
        sums[SERIES_ORIGIN] += row[STK_COUNT_WAIT_NS];
    }
    sums[SERIES_READS] = counts->blocks[STK_BLOCK_READS];
    sums[SERIES_BYTES_CACHE] += counts->blocks[STK_BLOCK_BYTES_CACHE];
    sums[SERIES_BYTES_ORIGIN] += counts->blocks[STK_BLOCK_BYTES_ORIGIN];
    sums[SERIES_BYTES_ORIGIN] += counts->ahead[STK_AHEAD_BYTES];
}

static void add_passes(uint64_t sums[SERIES_SUMS], const struct stk_tally *tally)
{
    struct stk_tally_pass all;
    stk_tally_read_all_passes(tally, &all);
    sums[SERIES_SAMPLES] = all.samples;
    sums[SERIES_WAITED] = all.waited_ns;
}

static void add_times(uint64_t sums[SERIES_SUMS], const struct stk_tally *tally)
{
    sums[SERIES_DECODE] =
        stk_tally_read(tally, STK_TALLY_JPEG_NS) + stk_tally_read(tally, STK_TALLY_FORM_NS);
    sums[SERIES_RESIZE] = stk_tally_read(tally, STK_TALLY_RESIZED_NS);
    sums[SERIES_COLLATE] = stk_tally_read(tally, STK_TALLY_COLLATE_NS);
    sums[SERIES_FETCH] = stk_tally_read(tally, STK_TALLY_FETCH_NS);
}

static void put_down(struct series *series, const struct stk_run_counts *counts,
                     const struct stk_tally *tally, int64_t at_ns)
{
    struct series_point *point = &series->points[series->count++];
    *point = (struct series_point){.at_ns = at_ns};
    add_opens(point->sums, counts);
    if (tally != NULL) {
        add_passes(point->sums, tally);
        add_times(point->sums, tally);
    }
}

/* ---- moments ---- */

/* Keeps every second point. */
static void thin_out(struct series *series)
{
    for (unsigned i = 0; i < SERIES_MOST / 2; i++) {
        series->points[i] = series->points[2 * i + 1];
    }
    series->count = SERIES_MOST / 2;
    series->step_ns *= 2;
}

static int64_t last_ns(const struct series *series)
{
    return series->count > 0 ? series->points[series->count - 1].at_ns : 0;
}

static bool is_due(const struct series *series, int64_t at_ns)
{
    return at_ns - last_ns(series) >= series->step_ns;
}

void series_look(struct series *series, const struct stk_run_counts *counts,
                 const struct stk_tally *tally, int64_t at_ns)
{
    series->step_ns = series->step_ns > 0 ? series->step_ns : FIRST_STEP_NS;
    if (series->count == SERIES_MOST && is_due(series, at_ns)) {
        thin_out(series);
    }
    if (is_due(series, at_ns)) {
        put_down(series, counts, tally, at_ns);
    }
}

/* Adds the last point. It replaces one that was added shortly before: no rate can be given for so
 * short a time. */
void series_end(struct series *series, const struct stk_run_counts *counts,
                const struct stk_tally *tally, int64_t at_ns)
{
    if (series->count > 0 &&
        (series->count == SERIES_MOST || at_ns - last_ns(series) < series->step_ns / 2)) {
        series->count--;
    }
    put_down(series, counts, tally, at_ns > last_ns(series) ? at_ns : last_ns(series) + 1);
}

/* ---- JSON ---- */

static void write_row(struct json *json, const struct series_point *point)
{
    json_list(json, NULL);
    json_number(json, NULL, (double)point->at_ns / 1e9, 3);
    for (int sum = 0; sum < SERIES_SUMS; sum++) {
        if (sum < SERIES_WAITED) {
            json_count(json, NULL, point->sums[sum]);
        } else {
            json_number(json, NULL, (double)point->sums[sum] / 1e9, 3);
        }
    }
    json_end(json);
}

void series_write_json(struct json *json, const struct series *series)
{
    json_object(json, "series");
    json_list(json, "columns");
    json_text(json, NULL, "seconds");
    for (int sum = 0; sum < SERIES_SUMS; sum++) {
        json_text(json, NULL, names[sum]);
    }
    json_end(json);
    json_list(json, "rows");
    for (unsigned i = 0; i < series->count; i++) {
        write_row(json, &series->points[i]);
    }
    json_end(json);
    json_end(json);
}
