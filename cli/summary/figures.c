#include "cli/summary/figures.h"

#include <stdio.h>
#include <string.h>

#include "cli/os/open_time.h"
#include "cli/out/say.h"

#define MOST_BUSY 0.10 /* part of an epoch: a loader that keeps up waits less for batches */

double figures_heaviest_call(const struct session *session, struct stk_tally_call *out)
{
    struct stk_tally_call call;
    *out = (struct stk_tally_call){.ns = 0};
    for (unsigned i = 0; stk_tally_read_call(session->tally, i, &call); i++) {
        *out = call.ns > out->ns ? call : *out;
    }
    return (double)out->ns / 1e9;
}

uint64_t figures_tallied(const struct session *session, enum stk_tally_slot slot)
{
    return session->tally != NULL ? stk_tally_read(session->tally, slot) : 0;
}

static uint64_t add_slots(const struct session *session, int first, int end)
{
    uint64_t sum = 0;
    for (int slot = first; slot < end; slot++) {
        sum += figures_tallied(session, (enum stk_tally_slot)slot);
    }
    return sum;
}

uint64_t figures_left_to_pillow(const struct session *session)
{
    return add_slots(session, STK_TALLY_IMAGES + 1, STK_TALLY_REASONS);
}

uint64_t figures_left_to_torch(const struct session *session)
{
    return add_slots(session, STK_TALLY_BATCH_REASONS, STK_TALLY_BATCH_REASONS_END);
}

static double seconds_of(const struct session *session, enum stk_tally_slot slot)
{
    return (double)figures_tallied(session, slot) / 1e9;
}

/* ---- passes ---- */

/* Returns how many processes worked at the same time. Processes that came one after the other, as
 * jobs in a script do, count as one. */
static double at_once(const struct stk_tally_pass *pass)
{
    double wall = (double)pass->ended_ns - (double)pass->begun_ns;
    double many = wall > 0 ? (double)pass->lasted_ns / wall : 1;
    return many > 1 ? many : 1;
}

void figures_pass(const struct session *session, unsigned loader, unsigned number,
                  struct stretch *out)
{
    struct stk_tally_pass pass = {0}, first = {0};
    *out = (struct stretch){.seconds = 0};
    if (session->tally == NULL) {
        return;
    }
    stk_tally_read_pass(session->tally, loader, number, &pass);
    stk_tally_read_pass(session->tally, loader, 0, &first);
    /* the last pass contains all later ones, and whatever was between them */
    double many = at_once(number < STK_TALLY_PASSES - 1 ? &pass : &first);
    *out = (struct stretch){.seconds = (double)pass.lasted_ns / 1e9 / many,
                            .lasted_s = (double)pass.lasted_ns / 1e9,
                            .waited_s = (double)pass.waited_ns / 1e9 / many,
                            .count = pass.samples,
                            .batches = pass.batches,
                            .processes = pass.begins,
                            .workers = pass.workers};
}

static void add_stretch(struct stretch *sum, const struct stretch *one)
{
    sum->seconds += one->seconds;
    sum->lasted_s += one->lasted_s;
    sum->waited_s += one->waited_s;
    sum->count += one->count;
    sum->batches += one->batches;
    sum->processes = one->processes > sum->processes ? one->processes : sum->processes;
    sum->workers = one->workers > sum->workers ? one->workers : sum->workers;
}

/* Returns the passes of a loader, and sets `samples` to the samples of all of them. */
static unsigned count_passes(const struct session *session, unsigned loader, uint64_t *samples)
{
    struct stretch pass = {.processes = 1};
    unsigned count = 0;
    *samples = 0;
    while (count < STK_TALLY_PASSES && pass.processes > 0) {
        figures_pass(session, loader, count, &pass);
        *samples += pass.count;
        count += pass.processes > 0;
    }
    return count;
}

/* Counts epochs. The last counted pass contains all later ones. */
static unsigned count_epochs(const struct figures *figures)
{
    struct stretch first, last;
    if (figures->passes < STK_TALLY_PASSES) {
        return figures->passes;
    }
    figures_pass(figures->session, figures->loader, 0, &first);
    figures_pass(figures->session, figures->loader, figures->passes - 1, &last);
    uint64_t rounds = first.processes > 0 ? last.processes / first.processes : 1;
    return figures->passes - 1 + (unsigned)(rounds > 0 ? rounds : 1);
}

/* Returns how many epochs are counted together as the n-th pass, n from 0. */
static unsigned rounds_of(const struct figures *figures, unsigned n)
{
    return n + 1 == figures->passes ? figures->epochs - n : 1;
}

/* Works out the passes of the training set's loader: the one that gave the most samples. */
static void gather_passes(struct figures *figures)
{
    uint64_t most = 0, samples;
    for (unsigned loader = 0; loader < STK_TALLY_LOADERS; loader++) {
        unsigned passes = count_passes(figures->session, loader, &samples);
        if (samples > most) {
            most = samples;
            figures->loader = loader;
            figures->passes = passes;
        }
    }
    figures->by_passes = most > 0;
    figures->epochs = figures->by_passes ? count_epochs(figures) : 0;
    for (unsigned number = 0; figures->by_passes && number < figures->passes; number++) {
        struct stretch pass;
        figures_pass(figures->session, figures->loader, number, &pass);
        pass.processes /= rounds_of(figures, number);
        pass.workers /= rounds_of(figures, number);
        add_stretch(number == 0 ? &figures->first : &figures->later, &pass);
    }
}

/* ---- opens ---- */

double figures_opens_s(const struct epoch_times *times, unsigned epoch)
{
    return (double)(times->ended_ns[epoch] - times->begun_ns[epoch]) / 1e9;
}

const char *figures_files_text(char out[FIGURES_FILES_TEXT], const struct stk_run_counts *counts)
{
    uint64_t files = stk_run_files(counts);
    *out = '\0';
    if (files > 0) {
        snprintf(out, FIGURES_FILES_TEXT, " of %s" COUNTED,
                 counts->unnumbered > 0 ? "at least " : "", COUNT_OF(files, "file", "files"));
    }
    return out;
}

static void gather_opens(struct figures *figures)
{
    int64_t begun_ns = INT64_MAX, ended_ns = 0;
    const struct epoch_times *times = figures->times;
    figures->first.count = stk_run_files(figures->counts);
    figures->first.seconds = figures_opens_s(times, 0);
    for (unsigned epoch = 1; epoch < figures->opened; epoch++) {
        figures->later.count += figures->counts->epochs[epoch][STK_COUNT_OPENS];
        begun_ns = times->begun_ns[epoch] < begun_ns ? times->begun_ns[epoch] : begun_ns;
        ended_ns = times->ended_ns[epoch] > ended_ns ? times->ended_ns[epoch] : ended_ns;
    }
    figures->later.seconds = ended_ns > begun_ns ? (double)(ended_ns - begun_ns) / 1e9 : 0;
    figures->passes = figures->epochs = figures->opened;
}

/* ---- all ---- */

static void add_up(struct figures *figures)
{
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        const uint64_t *row = figures->counts->epochs[epoch];
        figures->opened += row[STK_COUNT_OPENS] > 0 && figures->opened == (unsigned)epoch;
        for (int kind = 0; kind < STK_COUNT_KINDS; kind++) {
            figures->total[kind] += row[kind];
        }
    }
}

/* Adds the files that the command read ahead: they came from storage as well. */
static void add_ahead(struct figures *figures)
{
    const struct stk_run_counts *counts = figures->counts;
    uint64_t hits = counts->epochs[0][STK_COUNT_HITS];
    figures->total[STK_COUNT_BYTES_ORIGIN] += counts->ahead[STK_AHEAD_BYTES];
    figures->there = hits > counts->awaited ? hits - counts->awaited : 0;
}

/* Counts what was read if most of it came by blocks or maps: opens say little of big files then.
 * The blocks of a mapped file were filled to make it whole, so they count for the map alone. */
static void gather_bytes(struct figures *figures)
{
    const uint64_t *blocks = figures->counts->blocks;
    uint64_t cached = blocks[STK_BLOCK_BYTES_CACHE];
    uint64_t by_blocks = cached + blocks[STK_BLOCK_BYTES_ORIGIN];
    uint64_t mapped = blocks[STK_BLOCK_MAPPED_CACHE] + blocks[STK_BLOCK_MAPPED_ORIGIN];
    uint64_t whole = figures->total[STK_COUNT_BYTES_CACHE] + figures->total[STK_COUNT_BYTES_ORIGIN];
    if (2 * mapped > by_blocks && mapped > whole) {
        figures->mapped = true;
        figures->read_cached_bytes = blocks[STK_BLOCK_MAPPED_CACHE];
        figures->read_bytes = mapped;
    } else if (blocks[STK_BLOCK_READS] > 0 && by_blocks > whole) {
        figures->read_cached_bytes = cached + figures->total[STK_COUNT_BYTES_CACHE];
        figures->read_bytes = by_blocks + whole;
    }
}

double figures_percent(const struct figures *figures)
{
    return figures->read_bytes > 0
               ? percent((double)figures->read_cached_bytes, (double)figures->read_bytes)
               : percent((double)figures->total[STK_COUNT_HITS],
                         (double)figures->total[STK_COUNT_OPENS]);
}

uint64_t figures_lead(const struct figures *figures)
{
    const uint64_t *ahead = figures->counts->ahead;
    return ahead[STK_AHEAD_LED] > 0 ? ahead[STK_AHEAD_LEAD] / ahead[STK_AHEAD_LED] : 0;
}

/* A wait for storage ends later if no processor is free. */
enum stk_ahead_count figures_ahead_limit(const struct figures *figures)
{
    uint64_t waits[STK_AHEAD_COUNTS] = {0};
    enum stk_ahead_count most = STK_AHEAD_FILES;
    memcpy(waits, figures->counts->ahead, sizeof waits);
    waits[STK_AHEAD_FILES] = 0;
    waits[STK_AHEAD_STORAGE_NS] -= waits[STK_AHEAD_PROCESSORS_NS] < waits[STK_AHEAD_STORAGE_NS]
                                       ? waits[STK_AHEAD_PROCESSORS_NS]
                                       : waits[STK_AHEAD_STORAGE_NS];
    for (int kind = STK_AHEAD_STORAGE_NS; kind < STK_AHEAD_COUNTS; kind++) {
        most = waits[kind] > waits[most] ? (enum stk_ahead_count)kind : most;
    }
    return most;
}

const char *figures_limit_name(enum stk_ahead_count limit)
{
    static const char *const names[STK_AHEAD_COUNTS] = {[STK_AHEAD_FILES] = "none",
                                                        [STK_AHEAD_STORAGE_NS] = "storage",
                                                        [STK_AHEAD_PROCESSORS_NS] = "processors",
                                                        [STK_AHEAD_ROOM_NS] = "room",
                                                        [STK_AHEAD_WINDOW_NS] = "window"};
    return names[limit];
}

const char *figures_limit_text(enum stk_ahead_count limit)
{
    static const char *const texts[STK_AHEAD_COUNTS] = {
        [STK_AHEAD_STORAGE_NS] = "; limit: storage",
        [STK_AHEAD_PROCESSORS_NS] = "; limit: processors",
        [STK_AHEAD_ROOM_NS] = "; limit: room in the cache"};
    return texts[limit] != NULL ? texts[limit] : "";
}

static double not_below_zero(double value)
{
    return value > 0 ? value : 0;
}

/* Returns the seconds, of all processes added up, of opening and reading what is cached; 0 if the
 * tier has no room for a trial. They are not measured in the job, where a clock would cost as much
 * as a hit: they are what the same opens and reads take this process in the same tier. That is
 * measured once, with a file of 1 MiB without a name. For one thread at a time. */
static double cache_cost_s(const struct stk_tier *tier, const struct stk_run_counts *counts)
{
    static bool measured;
    static struct open_cost cost;
    double opens = (double)counts->blocks[STK_BLOCK_READS];
    double bytes = (double)counts->blocks[STK_BLOCK_BYTES_CACHE];
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        opens += (double)counts->epochs[epoch][STK_COUNT_HITS];
        bytes += (double)counts->epochs[epoch][STK_COUNT_BYTES_CACHE];
    }
    if (!measured && tier->shared != NULL) {
        cost = open_time_of_tier(tier->home);
        measured = true;
    }
    return (opens * (double)cost.open_ns + bytes * cost.byte_ns) / 1e9;
}

static void gather_times(struct figures *figures)
{
    const struct session *session = figures->session;
    figures->origin_s = (double)figures->total[STK_COUNT_WAIT_NS] / 1e9;
    figures->decode_s =
        seconds_of(session, STK_TALLY_JPEG_NS) + seconds_of(session, STK_TALLY_FORM_NS);
    figures->resize_s = seconds_of(session, STK_TALLY_RESIZED_NS);
    figures->collate_s = seconds_of(session, STK_TALLY_COLLATE_NS);
    figures->fetch_s = seconds_of(session, STK_TALLY_FETCH_NS);
    double rest_s = not_below_zero(figures->fetch_s - figures->origin_s - figures->decode_s -
                                   figures->resize_s - figures->collate_s);
    double cache_s = rest_s > 0 ? cache_cost_s(&session->tier, figures->counts) : 0;
    figures->cache_s = cache_s < rest_s ? cache_s : rest_s;
    figures->other_s = rest_s - figures->cache_s;
    figures->upload_s = seconds_of(session, STK_TALLY_UPLOAD_SENDING_NS) +
                        seconds_of(session, STK_TALLY_UPLOAD_STALLED_NS);
}

const struct stretch *figures_latest(const struct figures *figures)
{
    return figures->passes > 1 ? &figures->later : &figures->first;
}

/* Returns which part of all samples these epochs gave. */
static double latest_part(const struct figures *figures)
{
    uint64_t all = figures->first.count + figures->later.count;
    return all > 0 ? (double)figures_latest(figures)->count / (double)all : 1;
}

double figures_upload_part(const struct figures *figures)
{
    double lasted_s = figures_latest(figures)->lasted_s;
    double part = lasted_s > 0 ? figures->upload_s * latest_part(figures) / lasted_s : 0;
    return part < 1 ? part : 1;
}

/* Returns the largest part of making batches. The origin is a bound only if these epochs asked
 * it. */
static enum bound find_work(const struct figures *figures)
{
    double decode_s = figures->decode_s + figures->resize_s, origin_s = 0;
    for (unsigned epoch = figures->passes > 1 ? 1 : 0; epoch < figures->opened; epoch++) {
        origin_s += (double)figures->counts->epochs[epoch][STK_COUNT_WAIT_NS] / 1e9;
    }
    double part = latest_part(figures);
    decode_s *= part;
    double collate_s = figures->collate_s * part, other_s = figures->other_s * part;
    if (origin_s >= decode_s && origin_s >= collate_s && origin_s >= other_s) {
        return origin_s > 0 ? BOUND_FETCH : BOUND_UNKNOWN;
    }
    return decode_s >= collate_s && decode_s >= other_s ? BOUND_DECODE
           : collate_s >= other_s                       ? BOUND_BATCH
                                                        : BOUND_OTHER;
}

double figures_first_origin_s(const struct figures *figures)
{
    return (double)figures->counts->epochs[0][STK_COUNT_WAIT_NS] / 1e9;
}

/* Returns true if the first epoch waited longer than all later ones, for a large part of the whole,
 * and mostly for the origin. */
static bool is_first_fetched(const struct figures *figures)
{
    const struct stretch *first = &figures->first, *later = &figures->later;
    double work_s = not_below_zero(figures->fetch_s - figures->origin_s);
    double later_s = later->waited_s + figures_upload_part(figures) * later->seconds;
    return figures->passes > 1 && first->waited_s > later_s &&
           first->waited_s > MOST_BUSY * (first->seconds + later->seconds) &&
           figures_first_origin_s(figures) > work_s * (1 - latest_part(figures));
}

/* Returns the seconds of all processes added up, as `start_s` has them. */
static double waited_by_all_s(const struct stretch *stretch)
{
    return stretch->seconds > 0 ? stretch->waited_s * stretch->lasted_s / stretch->seconds : 0;
}

/* Works out the start of workers. The first batch takes as long to make as any other. */
static double find_start_s(const struct figures *figures)
{
    uint64_t batches = figures->first.batches + figures->later.batches;
    double batch_s = batches > 0 ? figures->fetch_s / (double)batches : 0;
    double passes =
        (double)(figures->epochs > 1 ? figures->epochs - 1 : 0) * (double)figures->first.processes;
    return not_below_zero(seconds_of(figures->session, STK_TALLY_START_NS) - passes * batch_s);
}

static enum bound find_bound(const struct figures *figures)
{
    const struct stretch *last = figures_latest(figures);
    if (!figures->by_passes || last->seconds <= 0) {
        return BOUND_UNKNOWN;
    }
    if (is_first_fetched(figures)) {
        return BOUND_FETCH;
    }
    double waited = last->waited_s / last->seconds, upload = figures_upload_part(figures);
    if (waited < MOST_BUSY && upload < MOST_BUSY) {
        return BOUND_NOT;
    }
    return upload > waited                                           ? BOUND_UPLOAD
           : 2 * figures->start_s > waited_by_all_s(&figures->later) ? BOUND_START
                                                                     : find_work(figures);
}

void figures_gather(struct figures *out, const struct request *request,
                    const struct session *session, const struct stk_run_counts *counts,
                    const struct epoch_times *times, double run_s)
{
    memset(out, 0, sizeof *out);
    out->request = request;
    out->session = session;
    out->counts = counts;
    out->times = times;
    out->run_s = run_s;
    add_up(out);
    gather_bytes(out);
    add_ahead(out);
    gather_passes(out);
    if (!out->by_passes) {
        gather_opens(out);
    }
    gather_times(out);
    out->start_s = find_start_s(out);
    out->bound = find_bound(out);
}

const char *figures_bound_name(enum bound bound)
{
    static const char *const names[] = {
        [BOUND_UNKNOWN] = "unknown", [BOUND_NOT] = "none",    [BOUND_FETCH] = "fetch",
        [BOUND_DECODE] = "decode",   [BOUND_BATCH] = "batch", [BOUND_OTHER] = "transforms",
        [BOUND_UPLOAD] = "upload",   [BOUND_START] = "start"};
    return names[bound];
}
