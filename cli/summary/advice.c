/* The sentences of advice. Each has the figures that it rests on. */
#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

#include "cli/out/break_text.h"
#include "cli/out/say.h"
#include "cli/out/shell_quote.h"
#include "cli/summary/bypass_text.h"
#include "cli/summary/figures.h"

#define SHORTEST_S  0.05 /* would be printed as 0.0 */
#define FETCH_S     1.0  /* less is no trouble */
#define MUCH        0.3  /* of the transforms' time: a transform that takes so much is named */
#define BUSY_LITTLE 0.5  /* busy part of the workers' time: below this, fewer workers would do */

static unsigned processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* Advises on files that were left to storage while memory was short. Returns NULL if there are
 * none. The caller frees. */
static char *advise_memory(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    uint64_t bytes = figures->counts->bypassed_bytes[STK_BYPASS_MEMORY];
    return bytes == 0 ? NULL
                      : must_format("memory was short for %s of files: a cache on a local disk "
                                    "takes none, --tier DIR:SIZE",
                                    size_text(size, bytes));
}

/* Returns ", and 4.0 MiB no free memory", or "". The caller frees. */
static char *memory_text(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    uint64_t bytes = figures->counts->bypassed_bytes[STK_BYPASS_MEMORY];
    return bytes > 0 ? must_format(", and %s no free memory", size_text(size, bytes))
                     : must_copy("");
}

/* Advises on files that found no room in the tier, and on those for which memory was short. A
 * larger place gains more than any other change. */
static char *advise_room(const struct figures *figures)
{
    char more[STK_SIZE_TEXT], whole[STK_SIZE_TEXT];
    uint64_t bytes = figures->counts->bypassed_bytes[STK_BYPASS_BUDGET] +
                     figures->counts->bypassed_bytes[STK_BYPASS_TIER];
    uint64_t budget = (uint64_t)(figures->session->tier.shared->budget.blocks * STK_BLOCK_BYTES);
    if (bytes == 0) {
        return advise_memory(figures);
    }
    OWNED char *memory = memory_text(figures);
    return must_format("%s found no room in the %s of the cache%s: name a larger place, "
                       "--tier DIR:SIZE (a local disk)",
                       size_text(more, bytes), size_text(whole, budget), memory);
}

/* Returns the seconds of making batches in an epoch that does not wait for the origin. */
static double work_s(const struct figures *figures)
{
    double origin_s = figures->passes > 1 ? figures->origin_s : 0;
    return figures->fetch_s > origin_s ? figures->fetch_s - origin_s : figures->fetch_s;
}

/* Advises more workers while there are processors for them, and else a way to make batches cheaper.
 * The caller frees. */
static char *change_workers(const struct figures *figures, unsigned cores, const char *otherwise)
{
    uint64_t workers = figures_latest(figures)->workers;
    uint64_t processes = figures_latest(figures)->processes;
    if (workers == 0) {
        return must_format("the job makes its batches itself: num_workers=%" PRIu64
                           " has them made beside it, on %u cores",
                           processes > 0 && processes < cores ? cores / processes : 1, cores);
    }
    if (workers > cores) {
        return must_format("%" PRIu64 " workers share %u cores: %u may do as well%s", workers,
                           cores, cores, otherwise);
    }
    return workers < cores
               ? must_format("more workers may help: %" PRIu64 " on %u cores", workers, cores)
               : must_format("all %u cores have a worker%s", cores, otherwise);
}

/* Names the transform that costs most, if it is much of all transforms. The caller frees. */
static char *name_transform(const struct figures *figures)
{
    struct stk_tally_call call;
    double seconds = figures_heaviest_call(figures->session, &call);
    if (seconds < MUCH * figures->other_s) {
        return must_copy("");
    }
    return must_format(" (%.0f%% of it in %s, outside of Stoker)",
                       seconds < figures->other_s ? percent(seconds, figures->other_s) : 100.0,
                       call.name);
}

static char *advise_workers(const struct figures *figures, const char *bound, double seconds,
                            const char *otherwise)
{
    bool apart = figures->passes > 1 && figures->origin_s >= SHORTEST_S;
    OWNED char *named = figures->bound == BOUND_OTHER ? name_transform(figures) : must_copy("");
    OWNED char *change = change_workers(figures, processors(), otherwise);
    return must_format("%s-bound: %.1f s%s of %.1f s of work on batches%s; %s", bound, seconds,
                       named, work_s(figures), apart ? " (storage apart)" : "", change);
}

static char *advise_decode(const struct figures *figures)
{
    uint64_t images = figures_tallied(figures->session, STK_TALLY_IMAGES);
    uint64_t kept = figures_tallied(figures->session, STK_TALLY_FROM_FORMS);
    bool room = kept * 2 < images && figures->passes > 2;
    double seconds = figures->decode_s + figures->resize_s;
    return advise_workers(figures, "decode", seconds,
                          room ? ", --decoded SIZE keeps more of them decoded" : "");
}

/* Returns true if first opens waited only for the answer that their files, which earlier runs had
 * cached, have not changed. A file that was just read ahead may still be asked about once more. */
static bool was_only_asked(const struct figures *figures)
{
    const struct stk_run_counts *counts = figures->counts;
    const uint64_t *first = counts->epochs[0];
    return 10 * counts->asked_ns > 9 * first[STK_COUNT_WAIT_NS] &&
           10 * counts->ahead[STK_AHEAD_FILES] < first[STK_COUNT_OPENS];
}

/* Says when the origin was read. Epochs are passes of a loader, and not first opens. */
static const char *when_fetched(const struct figures *figures)
{
    bool first = figures->passes > 1 && 2 * figures_first_origin_s(figures) > figures->origin_s;
    return !first ? "" : figures->by_passes ? " in epoch 1" : " at first opens";
}

static char *advise_fetch(const struct figures *figures)
{
    if (was_only_asked(figures)) {
        return must_format("fetch-bound%s: asking storage whether files have changed took "
                           "%.1f s, added up over processes; where they never do, --fresh never "
                           "spares it",
                           when_fetched(figures), figures->origin_s);
    }
    OWNED char *path = shell_quote(figures->request->spelled[0]);
    return must_format(
        "fetch-bound%s: storage took %.1f s, added up over processes; `stoker" BREAK_KEEP
        "warm" BREAK_KEEP "%s` fills the cache ahead, --tier on a disk keeps it",
        when_fetched(figures), figures->origin_s, path);
}

static const char *latest_name(const struct figures *figures)
{
    return figures->passes > 1 ? "the later epochs" : "the epoch";
}

/* Advises on the largest part of what is sent to the GPU, if it can be changed. The caller
 * frees. */
static char *advise_sending(const struct figures *figures)
{
    double bytes = (double)figures_tallied(figures->session, STK_TALLY_UPLOAD_BYTES);
    double floats = (double)figures_tallied(figures->session, STK_TALLY_UPLOAD_FLOAT_BYTES);
    double unlocked = (double)figures_tallied(figures->session, STK_TALLY_UPLOAD_UNLOCKED_BYTES);
    if (floats > bytes / 2) {
        return must_format(
            "%.0f%% of them floats: images sent as bytes are a quarter (PILToTensor; "
            "mean= and std= of stoker.Loader)",
            percent(floats, bytes));
    }
    if (unlocked > bytes / 2) {
        return must_format("%.0f%% of them from memory that is not locked: a DataLoader's workers "
                           "have it locked, without pin=False",
                           percent(unlocked, bytes));
    }
    return must_copy("as bytes from locked memory: smaller images are what is left, or fewer jobs "
                     "on that bus");
}

static char *advise_upload(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    OWNED char *sending = advise_sending(figures);
    return must_format("upload-bound: steps waited for copies to the GPU for %.0f%% of %s; %s were "
                       "sent, %s",
                       100 * figures_upload_part(figures), latest_name(figures),
                       size_text(size, figures_tallied(figures->session, STK_TALLY_UPLOAD_BYTES)),
                       sending);
}

/* Advises on the start of workers. Their start and their first samples are not measured apart:
 * usually each new worker does something once, such as opening a big file. The caller frees. */
static char *advise_start(const struct figures *figures)
{
    return must_format("start-bound: the first batches of later epochs, from new workers, took "
                       "%.1f s longer than others: persistent_workers=True keeps workers, and what "
                       "they have opened, from epoch to epoch",
                       figures->start_s);
}

/* Explains the rest of a step, as far as it is measured. Copies that the job starts by itself are
 * not. The caller frees. */
static char *explain_step(const struct figures *figures)
{
    if (figures_tallied(figures->session, STK_TALLY_UPLOADS) > 0) {
        return must_format(", for copies to the GPU for %.0f%%; the rest is the step (GPU-bound)",
                           100 * figures_upload_part(figures));
    }
    return must_copy(figures_tallied(figures->session, STK_TALLY_CUDA) > 0
                         ? "; the rest is the step: GPU-bound, or upload-bound if nvidia-smi shows "
                           "a GPU that is often idle (stoker.Loader copies ahead)"
                         : "; the rest is the job's own step");
}

/* Says if there are too many workers, even idle ones: per process as many would do as are busy, and
 * a fifth more. The caller frees. */
static char *explain_workers(const struct figures *figures)
{
    const struct stretch *last = figures_latest(figures);
    double all_s = (figures->first.seconds + figures->later.seconds) * (double)last->workers;
    if (last->workers <= last->processes || figures->fetch_s >= BUSY_LITTLE * all_s) {
        return must_copy("");
    }
    double busy = (double)last->workers / (double)last->processes * figures->fetch_s / all_s;
    return must_format("; %.1f of its %" PRIu64 " workers were busy on average: %u would do%s",
                       busy * (double)last->processes, last->workers, (unsigned)(busy * 1.2) + 1,
                       last->processes > 1 ? " in each process" : "");
}

static char *advise_nothing(const struct figures *figures)
{
    const struct stretch *last = figures_latest(figures);
    OWNED char *step = explain_step(figures);
    OWNED char *fewer = explain_workers(figures);
    return must_format("the loader keeps up: the job waited for batches for %.0f%% of "
                       "%s%s%s",
                       percent(last->waited_s, last->seconds), latest_name(figures), step, fewer);
}

static bool waits_for_origin(const struct figures *figures)
{
    return figures->origin_s >= FETCH_S && figures->origin_s > 0.2 * figures->run_s;
}

/* Advises on a run without a DataLoader: only the time of the origin is known. */
static char *advise_by_opens(const struct figures *figures)
{
    bool memory = figures->session->tier.shared->memory != 0;
    if (figures->request->files_left != NULL) {
        return NULL;
    }
    bool once = figures->opened == 1 && figures->total[STK_COUNT_HITS] == 0 &&
                figures->counts->unnumbered == 0; /* else the number of opens per file is unknown */
    if (once && memory && !figures->request->keep && figures->total[STK_COUNT_FILLS] > 0) {
        return must_format("each file was opened once: the cache serves the next run if it stays "
                           "(--keep, or --tier on a disk)");
    }
    return waits_for_origin(figures) ? advise_fetch(figures) : NULL;
}

/* Returns the heaviest reason that a setting can change; 0: none. Want of room is handled apart. */
static int heaviest_setting(const struct figures *figures)
{
    const struct stk_run_counts *counts = figures->counts;
    int most = 0;
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        bool room = why == STK_BYPASS_BUDGET || why == STK_BYPASS_TIER || why == STK_BYPASS_MEMORY;
        if (!room && bypassed_settings[why] != NULL && bypassed_count(counts, why) > 0 &&
            (most == 0 || counts->bypassed_bytes[why] > counts->bypassed_bytes[most])) {
            most = why;
        }
    }
    return most;
}

/* Returns true if many of the opened bytes were left to the origin. The job waits in its own reads
 * then, which look like any other work. */
static bool is_much_left(const struct figures *figures)
{
    const uint64_t *first = figures->counts->epochs[0];
    uint64_t bytes = first[STK_COUNT_BYTES_CACHE] + first[STK_COUNT_BYTES_ORIGIN];
    int why = heaviest_setting(figures);
    bool slow =
        figures->bound == BOUND_UNKNOWN ? waits_for_origin(figures) : figures->bound != BOUND_NOT;
    return slow && why != 0 && figures->counts->bypassed_bytes[why] > bytes / 5;
}

static char *advise_setting(const struct figures *figures)
{
    char size[BYPASSED_SIZE_TEXT];
    int why = heaviest_setting(figures);
    if (why == 0) {
        return NULL;
    }
    uint64_t count = bypassed_count(figures->counts, why);
    return must_format(COUNTED " (files of %s) %s not cached, %s: what would change it is %s",
                       COUNT_OF(count, "open", "opens"), bypassed_size(size, figures->counts, why),
                       plural(count, "was", "were"), bypassed_meanings[why],
                       bypassed_settings[why]);
}

char *figures_advice(const struct figures *figures)
{
    char *room = figures->session->tier.shared != NULL ? advise_room(figures) : NULL;
    if (room != NULL || figures->session->tier.shared == NULL) {
        return room;
    }
    if (is_much_left(figures)) {
        return advise_setting(figures);
    }
    switch (figures->bound) {
    case BOUND_NOT:
        return advise_nothing(figures);
    case BOUND_FETCH:
        return figures->request->files_left == NULL ? advise_fetch(figures) : NULL;
    case BOUND_DECODE:
        return advise_decode(figures);
    case BOUND_START:
        return advise_start(figures);
    case BOUND_UPLOAD:
        return advise_upload(figures);
    case BOUND_BATCH:
        return advise_workers(figures, "batch", figures->collate_s,
                              ", bytes (uint8) instead of floats are a quarter of it");
    case BOUND_OTHER:
        return advise_workers(figures, "transform", figures->other_s,
                              figures->request->no_torchvision
                                  ? ", without --no-torchvision torchvision's own take less"
                                  : "");
    default:
        return advise_by_opens(figures);
    }
}

/* ---- what else would help ---- */

/* Advises to keep the cache: the next run begins cold if it went with this one. */
static char *suggest_keeping(const struct figures *figures)
{
    bool memory = figures->session->tier.shared->memory != 0;
    if (!memory || figures->request->keep || figures->origin_s < FETCH_S) {
        return NULL;
    }
    return must_format("the cache lies in memory and goes with the last run, so the next one waits "
                       "for storage again (%.1f s): --keep keeps it, --tier on a local disk "
                       "also over a restart",
                       figures->origin_s);
}

/* Advises to fill ahead, so that the first epoch need not fill. */
static char *suggest_warming(const struct figures *figures)
{
    double first_s = figures_first_origin_s(figures);
    if (figures->request->warm || figures->bound == BOUND_FETCH || first_s < FETCH_S ||
        was_only_asked(figures)) {
        return NULL;
    }
    OWNED char *path = shell_quote(figures->request->spelled[0]);
    return must_format("first opens of files waited %.1f s for storage, added up over "
                       "processes: `stoker" BREAK_KEEP "warm" BREAK_KEEP
                       "%s` before the job fills the cache ahead, --warm does so beside it",
                       first_s, path);
}

static char *suggest_setting(const struct figures *figures)
{
    return is_much_left(figures) ? NULL : advise_setting(figures);
}

static char *suggest_for_maps(const struct figures *figures)
{
    unsigned count;
    uint64_t more;
    struct finisher_mapped *mapped = finisher_list_mapped(&figures->session->run, &count, &more);
    char *text = count == 0 ? NULL
                            : must_format("%" PRIu64 " big %s filled, and read from storage: "
                                          "stoker run --warm=first fills such files first",
                                          count + more,
                                          plural(count + more, "file was mapped before it was",
                                                 "files were mapped before they were"));
    finisher_free_mapped(mapped, count);
    return text;
}

unsigned figures_suggest(const struct figures *figures, char *out[FIGURES_SUGGESTIONS])
{
    static char *(*const sources[])(const struct figures *) = {
        figures_advice, suggest_for_maps, suggest_setting, suggest_warming, suggest_keeping};
    unsigned count = 0;
    if (figures->session->tier.shared == NULL) { /* another run could not find the cache */
        return 0;
    }
    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
        out[count] = sources[i](figures);
        count += out[count] != NULL;
    }
    return count;
}
