#include "cli/summary/metrics.h"

#include <string.h>

static uint64_t read_total(const struct figures *figures, int kind)
{
    return figures->total[kind];
}

static uint64_t read_tally(const struct figures *figures, int slot)
{
    return figures_tallied(figures->session, (enum stk_tally_slot)slot);
}

static uint64_t read_files(const struct figures *figures, int unused)
{
    (void)unused;
    return stk_run_files(figures->counts);
}

static uint64_t read_there(const struct figures *figures, int unused)
{
    (void)unused;
    return figures->there;
}

static uint64_t read_lead(const struct figures *figures, int unused)
{
    (void)unused;
    return figures_lead(figures);
}

static uint64_t read_member(const struct figures *figures, int counter)
{
    return ((const uint64_t *)figures->counts)[counter];
}

#define TOTAL(kind)  read_total, STK_COUNT_##kind
#define BLOCKS(kind) read_member, (int)STK_RUN_COUNTER(blocks) + STK_BLOCK_##kind
#define AHEAD(kind)  read_member, (int)STK_RUN_COUNTER(ahead) + STK_AHEAD_##kind
#define TALLY(slot)  read_tally, STK_TALLY_##slot
#define MEMBER(name) read_member, (int)STK_RUN_COUNTER(name)
#define JSON_ALONE   NULL, NULL

const struct metric metrics_table[] = {
    {METRIC_OPENS, "opens", "opens_total", "Opens of files below --path.", TOTAL(OPENS)},
    {METRIC_OPENS, "hits", "hits_total", "Opens served from the cache.", TOTAL(HITS)},
    {METRIC_OPENS, "fills", "fills_total", "Opens that filled the cache.", TOTAL(FILLS)},
    {METRIC_OPENS, "bytes_cache", "cache_bytes_total", "Sizes of the files served from the cache.",
     TOTAL(BYTES_CACHE)},
    {METRIC_OPENS, "bytes_storage", "storage_bytes_total", "Sizes of the files read from storage.",
     TOTAL(BYTES_ORIGIN)},
    {METRIC_OPENS, "storage_wait_s", JSON_ALONE, TOTAL(WAIT_NS)},

    {METRIC_FILES, "files", JSON_ALONE, read_files, 0},
    {METRIC_FILES, "unnumbered", JSON_ALONE, MEMBER(unnumbered)},
    {METRIC_FILES, "stats_served", JSON_ALONE, MEMBER(stats_served)},
    {METRIC_FILES, "stats_asked", JSON_ALONE, MEMBER(stats_asked)},
    {METRIC_FILES, "listings_served", "listings_served_total", "Directories listed from the cache.",
     MEMBER(listings_served)},
    {METRIC_FILES, "listings_asked", "listings_asked_total", "Directories listed at storage.",
     MEMBER(listings_asked)},
    {METRIC_FILES, "stale", JSON_ALONE, MEMBER(stale)},

    {METRIC_BLOCKS, "reads", "block_reads_total", "Reads of big files answered from blocks.",
     BLOCKS(READS)},
    {METRIC_BLOCKS, "bytes_cache", "block_cache_bytes_total", "Bytes of these.",
     BLOCKS(BYTES_CACHE)},
    {METRIC_BLOCKS, "bytes_storage", "block_storage_bytes_total",
     "Bytes of blocks read from storage.", BLOCKS(BYTES_ORIGIN)},
    {METRIC_BLOCKS, "mapped_cache", JSON_ALONE, BLOCKS(MAPPED_CACHE)},
    {METRIC_BLOCKS, "mapped_storage", JSON_ALONE, BLOCKS(MAPPED_ORIGIN)},

    {METRIC_AHEAD, "files", "read_ahead_files_total", "Files read ahead of the job.", AHEAD(FILES)},
    {METRIC_AHEAD, "bytes", "read_ahead_bytes_total", "Bytes of these.", AHEAD(BYTES)},
    {METRIC_AHEAD, "ranges", "read_ahead_ranges_total",
     "Ranges of big files read ahead into the page cache.", AHEAD(RANGES)},
    {METRIC_AHEAD, "range_bytes", "read_ahead_range_bytes_total", "Bytes of these.",
     AHEAD(RANGE_BYTES)},
    {METRIC_AHEAD, "there", "files_there_total",
     "Files that were in the cache when they were first opened.", read_there, 0},
    {METRIC_AHEAD, "awaited", "files_awaited_total",
     "Files whose first open waited until they had come.", MEMBER(awaited)},
    {METRIC_AHEAD, "lead", "read_ahead_lead",
     "How many files before what workers were asked for files came, on average.", read_lead, 0},
    {METRIC_AHEAD, "asked_s", JSON_ALONE, MEMBER(asked_ns)},
    {METRIC_AHEAD, "storage_s", JSON_ALONE, AHEAD(STORAGE_NS)},
    {METRIC_AHEAD, "processors_s", JSON_ALONE, AHEAD(PROCESSORS_NS)},
    {METRIC_AHEAD, "room_s", JSON_ALONE, AHEAD(ROOM_NS)},
    {METRIC_AHEAD, "loader_s", JSON_ALONE, AHEAD(WINDOW_NS)},

    {METRIC_DECODE, "images", "images_total", "Images decoded.", TALLY(IMAGES)},
    {METRIC_RESIZE, "resized", JSON_ALONE, TALLY(RESIZED)},
    {METRIC_RESIZE, "pngs", JSON_ALONE, TALLY(PNGS)},
    {METRIC_RESIZE, "operations", JSON_ALONE, TALLY(OPERATIONS)},

    {METRIC_SAMPLES, "kept", "decoded_copies_kept_total", "Decoded copies that were kept.",
     TALLY(FORMS)},
    {METRIC_SAMPLES, "kept_bytes", JSON_ALONE, TALLY(FORM_BYTES)},
    {METRIC_SAMPLES, "hits", "images_from_decoded_copies_total",
     "Images decoded from copies that were kept.", TALLY(FROM_FORMS)},
    {METRIC_SAMPLES, "unread", JSON_ALONE, TALLY(UNREAD)},
    {METRIC_SAMPLES, "unread_bytes", JSON_ALONE, TALLY(UNREAD_BYTES)},
    {METRIC_SAMPLES, "given_up", JSON_ALONE, MEMBER(given_up)},
    {METRIC_SAMPLES, "given_up_bytes", JSON_ALONE, MEMBER(given_up_bytes)},

    {METRIC_RESULTS, "found", JSON_ALONE, TALLY(RESULTS_FOUND)},
    {METRIC_RESULTS, "made", JSON_ALONE, TALLY(RESULTS_MADE)},
    {METRIC_RESULTS, "kept", JSON_ALONE, TALLY(RESULTS_KEPT)},

    {METRIC_BATCHES, "slots", "batches_in_slots_total", "Batches that went through slots.",
     TALLY(BATCHES)},
    {METRIC_BATCHES, "rows", JSON_ALONE, TALLY(ROWS)},
    {METRIC_BATCHES, "copied", JSON_ALONE, TALLY(COPIED)},
    {METRIC_BATCHES, "pickles", JSON_ALONE, TALLY(PICKLES)},

    {METRIC_UPLOAD, "batches", "uploads_total", "Batches sent to GPUs by stoker.Loader.",
     TALLY(UPLOADS)},
    {METRIC_UPLOAD, "bytes", "upload_bytes_total", "Bytes of these.", TALLY(UPLOAD_BYTES)},
    {METRIC_UPLOAD, "float_bytes", JSON_ALONE, TALLY(UPLOAD_FLOAT_BYTES)},
    {METRIC_UPLOAD, "unlocked_bytes", JSON_ALONE, TALLY(UPLOAD_UNLOCKED_BYTES)},
    {METRIC_UPLOAD, "sending_s", JSON_ALONE, TALLY(UPLOAD_SENDING_NS)},
    {METRIC_UPLOAD, "stalled_s", JSON_ALONE, TALLY(UPLOAD_STALLED_NS)},
    {METRIC_UPLOAD, "cuda", JSON_ALONE, TALLY(CUDA)},

    {METRIC_INNER, "runs", JSON_ALONE, TALLY(INNER_RUNS)},
    {METRIC_INNER, "opens", JSON_ALONE, TALLY(INNER_OPENS)},
    {METRIC_INNER, "hits", JSON_ALONE, TALLY(INNER_HITS)},

    {METRIC_SEEN, "opencv", JSON_ALONE, TALLY(OPENCV)},
};

const unsigned metrics_count = sizeof metrics_table / sizeof metrics_table[0];

static bool is_seconds(const char *name)
{
    size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, "_s") == 0;
}

static void write_value(struct json *json, const struct metric *metric, uint64_t value)
{
    if (is_seconds(metric->name)) {
        json_seconds(json, metric->name, value);
    } else {
        json_count(json, metric->name, value);
    }
}

void metrics_write(struct json *json, enum metric_group group, const struct figures *figures)
{
    for (unsigned i = 0; i < metrics_count; i++) {
        const struct metric *metric = &metrics_table[i];
        if (metric->group == group) {
            write_value(json, metric, metric->read(figures, metric->which));
        }
    }
}

void metrics_write_epoch(struct json *json, const uint64_t row[STK_COUNT_KINDS])
{
    for (unsigned i = 0; i < metrics_count && metrics_table[i].group == METRIC_OPENS; i++) {
        write_value(json, &metrics_table[i], row[metrics_table[i].which]);
    }
}

void metrics_write_object(struct json *json, const char *name, enum metric_group group,
                          const struct figures *figures)
{
    json_object(json, name);
    metrics_write(json, group, figures);
    json_end(json);
}
