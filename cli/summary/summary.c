#include "cli/summary/summary.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/os/ending.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/run/live_runs.h"
#include "cli/summary/bypass_text.h"
#include "cli/summary/rank_figures.h"
#include "cli/tiers/usage.h"

#define SHORTEST_S 0.05 /* shorter times were not worth saving */
#define MOST_OPENS 8    /* that get a line each */
#define RATED_S    1.0  /* no rate is printed for a shorter time */

/* ---- the line at the start ---- */

/* Returns the room reserved for samples. Room that entries leave is reported at the end. The caller
 * frees. */
static char *announced_samples(const struct samples *samples, const struct request *request)
{
    char size[STK_SIZE_TEXT];
    return request->samples_bytes >= 0 ? must_format(", %s of it for decoded copies",
                                                     size_text(size, samples_budget_bytes(samples)))
                                       : must_copy("");
}

static bool is_kept(const struct request *request, const struct session *session)
{
    return request->keep || session_is_kept(session);
}

static const char *stay(const struct request *request, const struct session *session)
{
    return session->tier.shared->memory == 0 ? "stays for the next run"
           : is_kept(request, session)       ? "stays until `stoker clear`"
                                             : "removed at the end unless --keep";
}

/* Announces a run that caches no files. */
static void announce_left(const struct request *request, const struct session *session,
                          const char *size)
{
    const char *samples = session->samples.setting;
    if (request->no_decode || samples == NULL || strcmp(samples, "0") == 0) {
        say("--auto: %s: its files are left to the kernel's page cache", request->files_left);
    } else {
        say("--auto: %s: its files are left to the kernel's page cache, decoded images are kept in "
            "%s, at most %s; %s",
            request->files_left, session->tier.home, size, stay(request, session));
    }
}

void summary_announce(const struct request *request, const struct session *session)
{
    char size[STK_SIZE_TEXT];
    const struct stk_budget *budget = &session->tier.shared->budget;
    size_text(size, (uint64_t)(budget->blocks * STK_BLOCK_BYTES));
    if (request->files_left != NULL) {
        announce_left(request, session, size);
        return;
    }
    OWNED char *paths = must_copy(request->spelled[0]);
    for (unsigned i = 1; i < request->count; i++) {
        paths = must_append(paths, ", %s", request->spelled[i]);
    }
    OWNED char *samples = announced_samples(&session->samples, request);
    say("caching %s%s in %s, at most %s%s; %s", paths,
        request->detected ? " (from the command's arguments)" : "", session->tier.home, size,
        samples, stay(request, session));
}

/* ---- epochs ---- */

static double rate(const struct stretch *stretch)
{
    return stretch->seconds > 0 ? (double)stretch->count / stretch->seconds : 0;
}

/* Returns how much faster an epoch was than the first, or "". The caller frees. */
static char *times_text(const struct stretch *stretch, const struct stretch *first)
{
    return first != NULL && rate(first) > 0 && rate(stretch) > 0
               ? must_format(" (%.1fx)", rate(stretch) / rate(first))
               : must_copy("");
}

static void add_pass(const char *name, const struct stretch *stretch, const struct stretch *first)
{
    OWNED char *times = times_text(stretch, first);
    lines_add(EPOCHS, "  %s: " COUNTED " in %.1f s, %.0f/s%s, %.1f s waiting for data", name,
              COUNT_OF(stretch->count, "sample", "samples"), stretch->seconds, rate(stretch), times,
              stretch->waited_s);
}

static void add_passes(const struct figures *figures)
{
    OWNED char *later =
        figures->epochs > 2 ? must_format("epochs 2-%u", figures->epochs) : must_copy("epoch 2");
    add_pass("epoch 1", &figures->first, NULL);
    if (figures->passes > 1) {
        add_pass(later, &figures->later, &figures->first);
    }
}

/* Adds opens, for a run without a DataLoader to say when an epoch begins. */
static void add_opens(const char *name, const struct stretch *stretch, const struct stretch *first)
{
    bool rated = stretch->seconds >= RATED_S;
    OWNED char *times =
        times_text(stretch, rated && first != NULL && first->seconds >= RATED_S ? first : NULL);
    OWNED char *speed =
        rated ? must_format(" in %.1f s, %.0f files/s", stretch->seconds, rate(stretch))
              : must_copy("");
    lines_add(EPOCHS, "  %s: %" PRIu64 "%s%s", name, stretch->count, speed, times);
}

/* Adds only how often files were opened, if it went too fast to say more. */
static void add_counts(const struct figures *figures)
{
    OWNED char *text = must_copy("");
    for (unsigned n = 0; n < figures->opened && n < MOST_OPENS; n++) {
        uint64_t opens = n > 0 ? figures->counts->epochs[n][STK_COUNT_OPENS] : figures->first.count;
        text = must_append(text, "%s%" PRIu64, n > 0 ? ", " : "", opens);
    }
    lines_add(EPOCHS, "  %s of a file: %s%s",
              figures->opened > 1 ? "first, second, ... open" : "first open", text,
              figures->opened > MOST_OPENS ? ", ..." : "");
}

static void add_n_th_opens(const struct figures *figures)
{
    if (figures->first.seconds < RATED_S && figures->later.seconds < RATED_S) {
        add_counts(figures);
        return;
    }
    add_opens("first open of a file", &figures->first, NULL);
    if (figures->opened > 1) {
        add_opens("2nd and later opens of a file", &figures->later, &figures->first);
    }
}

/* ---- times ---- */

static char *add_time(char *text, const char *name, double seconds)
{
    return seconds >= SHORTEST_S
               ? must_append(text, "%s%s %.1f s", *text != '\0' ? ", " : "", name, seconds)
               : text;
}

static void add_times(const struct figures *figures)
{
    OWNED char *text = add_time(must_copy(""), "storage", figures->origin_s);
    text = add_time(text, "decode", figures->decode_s);
    text = add_time(text, "resize", figures->resize_s);
    text = add_time(text, "batches", figures->collate_s);
    text = add_time(text, "cache about", figures->cache_s); /* an estimate */
    bool apart = figures->cache_s > 0 || figures->total[STK_COUNT_HITS] == 0;
    text =
        add_time(text, apart ? "the job's transforms" : "cache and transforms", figures->other_s);
    if (*text != '\0') {
        lines_add(TIMES, "  time summed over processes: %s", text);
    }
}

static void add_uploads(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    const struct session *session = figures->session;
    uint64_t batches = figures_tallied(session, STK_TALLY_UPLOADS);
    if (batches > 0) {
        lines_add(TIMES, "  to the GPU: %s in " COUNTED ", %.1f s waiting for them",
                  size_text(size, figures_tallied(session, STK_TALLY_UPLOAD_BYTES)),
                  COUNT_OF(batches, "batch", "batches"), figures->upload_s);
    }
}

/* ---- files ---- */

static void add_bytes(const struct figures *figures)
{
    char cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT];
    bool blocks = figures->counts->blocks[STK_BLOCK_READS] > 0;
    /* The command's own reading; beside reads by blocks it has a line of its own. */
    uint64_t finished = blocks ? 0 : figures->session->finished.bytes;
    if (figures->total[STK_COUNT_BYTES_ORIGIN] + figures->total[STK_COUNT_BYTES_CACHE] == 0) {
        return;
    }
    lines_add(PARTS, "  %s: %s from storage, %s from the cache", blocks ? "whole files" : "files",
              size_text(origin, figures->total[STK_COUNT_BYTES_ORIGIN] + finished),
              size_text(cache, figures->total[STK_COUNT_BYTES_CACHE]));
}

static int heaviest(const struct stk_run_counts *counts, const bool said[STK_BYPASS_KINDS])
{
    int found = 0;
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        bool heavier = found == 0 || counts->bypassed_bytes[why] > counts->bypassed_bytes[found] ||
                       (counts->bypassed_bytes[why] == counts->bypassed_bytes[found] &&
                        bypassed_count(counts, why) > bypassed_count(counts, found));
        if (bypassed_count(counts, why) > 0 && !said[why] && heavier) {
            found = why;
        }
    }
    return found;
}

static void add_one_bypassed(const struct stk_run_counts *counts, int why)
{
    char size[BYPASSED_SIZE_TEXT];
    const char *setting = bypassed_settings[why];
    lines_add(LOSSES, "  not cached: %" PRIu64 " %s, %s (%s%s%s)", bypassed_count(counts, why),
              bypassed_word(why), bypassed_size(size, counts, why), bypassed_meanings[why],
              setting != NULL ? "; would change it: " : "", setting != NULL ? setting : "");
}

static void add_other_bypassed(const struct stk_run_counts *counts,
                               const bool said[STK_BYPASS_KINDS])
{
    OWNED char *all = must_copy("");
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (!said[why] && bypassed_count(counts, why) > 0) {
            all = must_append(all, "%s%" PRIu64 " %s", *all != '\0' ? ", " : "",
                              bypassed_count(counts, why), bypassed_word(why));
        }
    }
    if (*all != '\0') {
        lines_add(DETAILS, "  also not cached: %s", all);
    }
}

/* Adds the two heaviest reasons, each with the setting that would change it. */
static void add_bypassed(const struct stk_run_counts *counts)
{
    bool said[STK_BYPASS_KINDS] = {false};
    for (int i = 0; i < 2; i++) {
        int why = heaviest(counts, said);
        if (why != 0) {
            add_one_bypassed(counts, why);
            said[why] = true;
        }
    }
    add_other_bypassed(counts, said);
}

static void add_unfinished(const struct finisher_figures *finished)
{
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (finished->left[why] > 0) {
            lines_add(LOSSES, "  %" PRIu64 " big %s could not be finished: %s", finished->left[why],
                      plural(finished->left[why], "file", "files"), bypassed_meanings[why]);
        }
    }
}

static void add_blocks(const struct figures *figures)
{
    char cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT], filled[STK_SIZE_TEXT];
    const uint64_t *blocks = figures->counts->blocks;
    const struct finisher_figures *finished = &figures->session->finished;
    if (blocks[STK_BLOCK_READS] > 0) {
        lines_add(CACHES,
                  "  big files: " COUNTED " answered from blocks (%s); %s came from storage",
                  COUNT_OF(blocks[STK_BLOCK_READS], "read", "reads"),
                  size_text(cache, blocks[STK_BLOCK_BYTES_CACHE]),
                  size_text(origin, blocks[STK_BLOCK_BYTES_ORIGIN]));
    }
    if (finished->files > 0) {
        lines_add(PARTS, "  %" PRIu64 " big %s finished beside the command (%s)", finished->files,
                  plural(finished->files, "file", "files"), size_text(filled, finished->bytes));
    }
    add_unfinished(finished);
}

/* Adds the files that the command read, and how far it was ahead of the job. */
static void add_read_ahead(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    const uint64_t *ahead = figures->counts->ahead;
    uint64_t lead = figures_lead(figures);
    OWNED char *how_far = lead > 0 ? must_format(", %" PRIu64 " ahead", lead) : must_copy("");
    if (ahead[STK_AHEAD_FILES] > 0) {
        lines_add(CACHES, "  read ahead: " COUNTED " (%s), " COUNTED " there in time%s%s",
                  COUNT_OF(ahead[STK_AHEAD_FILES], "file", "files"),
                  size_text(size, ahead[STK_AHEAD_BYTES]), COUNT_OF(figures->there, "was", "were"),
                  how_far, figures_limit_text(figures_ahead_limit(figures)));
    }
    if (ahead[STK_AHEAD_RANGES] > 0) {
        lines_add(CACHES, "  read ahead of big files: " COUNTED " (%s), by the page cache",
                  COUNT_OF(ahead[STK_AHEAD_RANGES], "range", "ranges"),
                  size_text(size, ahead[STK_AHEAD_RANGE_BYTES]));
    }
}

static void add_mapped(const struct session *session)
{
    unsigned count;
    uint64_t more;
    struct finisher_mapped *mapped = finisher_list_mapped(&session->run, &count, &more);
    for (unsigned i = 0; i < count; i++) {
        lines_add(i == 0 ? LOSSES : DETAILS, "  mapped before it was filled: %s%s", mapped[i].path,
                  mapped[i].done ? " (filled since)" : "");
    }
    if (more > 0) {
        lines_add(
            DETAILS, "  %" PRIu64 " more %s", more,
            plural(more, "was mapped before it was filled", "were mapped before they were filled"));
    }
    if (count > 0) {
        lines_add(LOSSES,
                  "  Such maps read the original for as long as they last. Fill the file first: "
                  "stoker warm" BREAK_KEEP "%s, or stoker run --warm=first",
                  mapped[0].path);
    }
    finisher_free_mapped(mapped, count);
}

static void add_ahead(const struct request *request, const struct fill_figures *ahead)
{
    char size[STK_SIZE_TEXT];
    const char *how = ahead->full      ? " (nothing more fitted)"
                      : ahead->stopped ? " (the command ended first)"
                                       : "";
    if (request->warm) {
        lines_add(CACHES,
                  "  --warm: " COUNTED " (%s) filled, " COUNTED " there, of %" PRIu64 " in all%s",
                  COUNT_OF(ahead->filled, "file", "files"), size_text(size, ahead->filled_bytes),
                  COUNT_OF(ahead->present, "was", "were"), ahead->found, how);
    }
}

/* ---- what went wrong, and what stays ---- */

static void add_given_up(const struct stk_run_counts *counts)
{
    char size[STK_SIZE_TEXT];
    if (counts->given_up > 0) {
        lines_add(DETAILS, "  %" PRIu64 " cached %s (%s) gave way to decoded copies",
                  counts->given_up, plural(counts->given_up, "file", "files"),
                  size_text(size, counts->given_up_bytes));
    }
}

static void add_trouble(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    const struct session *session = figures->session;
    if (session->given_back_bytes > 0) {
        lines_add(LOSSES, "  Memory was short: %s of cached files were removed for the job's sake.",
                  size_text(size, session->given_back_bytes));
    }
    if (figures->counts->stale > 0) {
        lines_add(LOSSES,
                  "  Readers kept old bytes (%" PRIu64
                  "): their own process wrote the file while they had it mapped or read it. Leave "
                  "what is written out of --path.",
                  figures->counts->stale);
    }
}

static void add_stay(const struct figures *figures)
{
    char used[STK_SIZE_TEXT];
    const struct session *session = figures->session;
    if (session->tier.shared == NULL) {
        return;
    }
    const char *until = session->tier.shared->memory == 0    ? "stays for the next run"
                        : is_kept(figures->request, session) ? "stays until `stoker clear`"
                        : live_count(session->home).runs > 1 ? "stays while other runs last"
                                                             : "removed now (--keep keeps it)";
    OWNED char *kernel = usage_kernel_text(&session->tier);
    size_text(used, usage_of(&session->tier).used_bytes);
    lines_add(EPOCHS, "  cache: %s in %s%s, %s", used, session->tier.home, kernel, until);
}

static void add_run_users(const struct run_users *users)
{
    static const char *const ends[] = {[REMOVAL_USER_GONE] = "gone now",
                                       [REMOVAL_USER_KEPT] =
                                           "stays until that user's `stoker clear`",
                                       [REMOVAL_USER_USED] = "stays, as processes still use it"};
    if (users != NULL && users->beyond > 0) {
        lines_add(
            HEAD,
            "  Processes of this run became more than %d users: %u of their caches stay, until "
            "that user's `stoker clear`",
            RUN_USERS_MOST, users->beyond);
    }
    for (unsigned i = 0; users != NULL && i < users->count; i++) {
        const struct run_user *user = &users->all[i];
        lines_add(HEAD,
                  "  Processes of this run became user %u, which has a cache of its own: " COUNTED
                  ", %.1f%% from it; %s",
                  user->uid, COUNT_OF(user->opens, "open", "opens"),
                  percent((double)user->hits, (double)user->opens), ends[user->end]);
    }
}

/* ---- all of it ---- */

/* Returns what the head says of files that were read ahead, or "". The caller frees. */
static char *read_ahead_text(const struct figures *figures)
{
    uint64_t files = figures->counts->ahead[STK_AHEAD_FILES];
    return files > 0 ? must_format(" (" COUNTED " read ahead in this run)",
                                   COUNT_OF(files, "file", "files"))
                     : must_copy("");
}

/* Returns ", 129 MiB read" or "mapped" if bytes say more than opens, or "". The caller frees. */
static char *read_text(const struct figures *figures)
{
    char size[STK_SIZE_TEXT];
    return figures->read_bytes > 0 ? must_format(", %s %s", size_text(size, figures->read_bytes),
                                                 figures->mapped ? "mapped" : "read")
                                   : must_copy("");
}

/* Returns how the command ended if that was by a signal, or for want of memory, or "". The caller
 * frees. */
static char *killed_text(const struct figures *figures)
{
    bool killed = WIFSIGNALED(figures->status) || figures->memory_kills > 0;
    OWNED char *ending = killed ? ending_text(figures->status, figures->memory_kills) : NULL;
    return ending != NULL ? must_format("the command %s; ", ending) : must_copy("");
}

static void add_opened(const struct figures *figures)
{
    char files[FIGURES_FILES_TEXT];
    OWNED char *bytes = read_text(figures), *killed = killed_text(figures);
    OWNED char *read = read_ahead_text(figures);
    uint64_t opens = figures->total[STK_COUNT_OPENS];
    lines_add(HEAD, "stoker: %s" COUNTED "%s%s, %.1f%% from the cache%s", killed,
              COUNT_OF(opens, "open", "opens"), figures_files_text(files, figures->counts), bytes,
              figures_percent(figures), read);
}

/* Adds the directories that the cache listed. */
static void add_listings(const struct figures *figures)
{
    uint64_t served = figures->counts->listings_served;
    if (served > 0) {
        lines_add(PARTS, "  directories: " COUNTED " from the cache, %" PRIu64 " from storage",
                  COUNT_OF(served, "listing", "listings"), figures->counts->listings_asked);
    }
}

static void add_advice(const struct figures *figures)
{
    OWNED char *advice = figures_advice(figures);
    if (advice != NULL) {
        lines_add(HEAD, "  advice: %s", advice);
    }
}

void summary_print(FILE *out, const struct figures *figures, unsigned most_rows)
{
    const struct session *session = figures->session;
    bool any = figures->total[STK_COUNT_OPENS] > 0;
    if (any) {
        add_opened(figures);
    } else {
        summary_explain_nothing(figures);
    }
    add_run_users(figures->run_users);
    if (figures->by_passes) {
        add_passes(figures);
    } else if (stk_run_files(figures->counts) > 0 && figures->read_bytes == 0) {
        add_n_th_opens(figures);
    }
    add_times(figures);
    rank_figures_add_line(session);
    add_uploads(figures);
    add_blocks(figures);
    add_read_ahead(figures);
    if (any) {
        add_bytes(figures);
        add_listings(figures);
    }
    summary_add_decoded(session);
    summary_add_results(session);
    add_given_up(figures->counts);
    summary_add_batches(session);
    summary_add_missing(figures);
    add_ahead(figures->request, &session->ahead);
    add_bypassed(figures->counts);
    add_mapped(session);
    add_trouble(figures);
    if (any) {
        add_stay(figures);
        add_advice(figures);
    }
    lines_print(out, most_rows);
}
