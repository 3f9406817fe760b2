/* What a run did. See cli/summary.h. */
#include "cli/summary.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/samples.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/say.h"

#define ROWS 6 /* of the table, for the first epochs; the later ones share one */

/* The epochs that anything was opened in. */
static int count_epochs(const struct stk_run_counts *counts)
{
    int epochs = 0;
    while (epochs < STK_RUN_EPOCHS && counts->epochs[epochs][STK_COUNT_OPENS] > 0) {
        epochs++;
    }
    return epochs;
}

/* The sum of all epochs from `first`, which counts from 0. */
static void add_up(const struct stk_run_counts *counts, int first, uint64_t total[STK_COUNT_KINDS])
{
    memset(total, 0, STK_COUNT_KINDS * sizeof *total);
    for (int epoch = first; epoch < STK_RUN_EPOCHS; epoch++) {
        for (int kind = 0; kind < STK_COUNT_KINDS; kind++) {
            total[kind] += counts->epochs[epoch][kind];
        }
    }
}

/* ---- the line at the start ---- */

/* What is set aside. What entries leave is told at the end. The caller frees. */
static char *announced_samples(const struct samples *samples, const struct request *request)
{
    char size[STK_SIZE_TEXT];
    return request->samples_bytes >= 0 ? must_format(", %s of it for samples",
                                                     size_text(size, samples_budget_bytes(samples)))
                                       : must_copy("");
}

void summary_announce(const struct request *request, const struct session *session)
{
    char size[STK_SIZE_TEXT];
    const struct stk_budget *budget = &session->tier.shared->budget;
    char *paths = must_copy(request->spelled[0]);
    for (unsigned i = 1; i < request->count; i++) {
        char *longer = must_format("%s, %s", paths, request->spelled[i]);
        free(paths);
        paths = longer;
    }
    char *samples = announced_samples(&session->samples, request);
    say("caching %s%s in %s, at most %s in %" PRId64 " files%s", paths,
        request->detected ? " (from the command's arguments)" : "", session->tier.home,
        size_text(size, (uint64_t)(budget->blocks * STK_BLOCK_BYTES)), budget->inodes, samples);
    free(samples);
    free(paths);
}

/* ---- the table at the end ---- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole;
}

static void print_row(const char *name, const uint64_t row[STK_COUNT_KINDS])
{
    char cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT];
    uint64_t bypassed = row[STK_COUNT_OPENS] - row[STK_COUNT_HITS] - row[STK_COUNT_FILLS];
    fprintf(stderr,
            "  %-7s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %11s %11s %8.1f s\n",
            name, row[STK_COUNT_OPENS], row[STK_COUNT_HITS], row[STK_COUNT_FILLS], bypassed,
            size_text(cache, row[STK_COUNT_BYTES_CACHE]),
            size_text(origin, row[STK_COUNT_BYTES_ORIGIN]), (double)row[STK_COUNT_WAIT_NS] / 1e9);
}

void summary_print_bypassed(const uint64_t bypassed[STK_BYPASS_KINDS])
{
    static const char *const meanings[STK_BYPASS_KINDS] = {
        [STK_BYPASS_LARGE] = "above STOKER_MAX_FILE",
        [STK_BYPASS_EMPTY] = "of size 0",
        [STK_BYPASS_YOUNG] = "changed less than STOKER_MIN_AGE ago",
        [STK_BYPASS_WRITTEN] = "opened for writing in this run",
        [STK_BYPASS_CHANGED] = "changed while being read",
        [STK_BYPASS_BUDGET] = "beyond the tier's budget",
        [STK_BYPASS_MEMORY] = "memory was short",
        [STK_BYPASS_DATABASE] = "SQLite, and HDF5 open for writing",
        [STK_BYPASS_SPARSE] = "files with holes",
        [STK_BYPASS_ORIGIN] = "in memory already, on a tmpfs",
        [STK_BYPASS_NAME] = "names too long",
        [STK_BYPASS_FLAGS] = "opened with flags that want the origin itself",
        [STK_BYPASS_TIER] = "the tier was full or failed",
        [STK_BYPASS_CATALOGUE] = "no room in the catalogue, or it was removed",
        [STK_BYPASS_STUCK] = "another process was stuck filling it",
    };
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (bypassed[why] > 0) {
            fprintf(stderr, "  bypassed: %" PRIu64 " %s (%s)\n", bypassed[why],
                    stk_bypass_name((enum stk_bypass)why), meanings[why]);
        }
    }
}

static void print_count(uint64_t number, const char *text)
{
    if (number > 0) {
        fprintf(stderr, "  %" PRIu64 " %s\n", number, text);
    }
}

static void print_table(const struct stk_run_counts *counts, const uint64_t total[STK_COUNT_KINDS])
{
    int epochs = count_epochs(counts);
    say("%" PRIu64 " opens of %" PRIu64 " files, %.1f%% from the cache", total[STK_COUNT_OPENS],
        counts->epochs[0][STK_COUNT_OPENS], percent(total[STK_COUNT_HITS], total[STK_COUNT_OPENS]));
    fprintf(stderr, "  %-7s %10s %10s %10s %10s %11s %11s %10s\n", "epoch", "opens", "hits",
            "fills", "bypassed", "from cache", "from origin", "waited");
    for (int epoch = 0; epoch < epochs && epoch < ROWS; epoch++) {
        char name[16];
        snprintf(name, sizeof name, "%d", epoch + 1);
        print_row(name, counts->epochs[epoch]);
    }
    if (epochs > ROWS) {
        uint64_t later[STK_COUNT_KINDS];
        add_up(counts, ROWS, later);
        print_row("later", later);
    }
    if (epochs > 1) {
        print_row("all", total);
    }
    summary_print_bypassed(counts->bypassed);
}

static void explain_nothing(const struct request *request)
{
    const char *reason = command_cannot_preload(request->command[0]);
    say("NOTHING WAS SERVED: no process opened a file below %s%s for reading", request->spelled[0],
        request->count > 1 ? " (or the other paths)" : "");
    if (reason != NULL) {
        fprintf(stderr, "  the command is a %s: the library cannot be loaded into it\n", reason);
        return;
    }
    fprintf(stderr,
            "  Is the path right? Paths are compared as they are spelled, links not followed.\n"
            "  Programs that are static, setuid or written in Go do not load the library, and\n"
            "  launchers such as srun, ssh, docker and sudo lose LD_PRELOAD: run stoker inside "
            "them,\n"
            "  as in: srun stoker run --path %s -- COMMAND\n",
            request->spelled[0]);
}

static uint64_t decoded(const struct session *session, enum stk_tally_slot slot)
{
    return session->tally != NULL ? stk_tally_read(session->tally, slot) : 0;
}

static uint64_t left_to_pillow(const struct session *session)
{
    uint64_t left = 0;
    for (int slot = STK_TALLY_IMAGES + 1; slot < STK_TALLY_REASONS; slot++) {
        left += decoded(session, (enum stk_tally_slot)slot);
    }
    return left;
}

static void print_decoded(const struct session *session)
{
    uint64_t left = left_to_pillow(session), images = decoded(session, STK_TALLY_IMAGES);
    uint64_t resized = decoded(session, STK_TALLY_RESIZED);
    if (resized > 0) {
        say("%" PRIu64 " images decoded, %" PRIu64 " left to Pillow, %" PRIu64 " others resized",
            images, left, resized);
    } else if (images + left > 0) {
        say("%" PRIu64 " images decoded, %" PRIu64 " left to Pillow", images, left);
    }
    for (int slot = STK_TALLY_IMAGES + 1; slot < STK_TALLY_REASONS; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (decoded(session, why) > 0) {
            fprintf(stderr, "  left: %" PRIu64 " %s (%s)\n", decoded(session, why),
                    stk_tally_name(why), stk_tally_meaning(why));
        }
    }
}

/* Nothing where no JPEG was decoded, which would tell how long that takes. The caller frees. */
static char *saved_text(const struct stk_tally *tally)
{
    return stk_tally_read(tally, STK_TALLY_JPEG_BYTES) > 0
               ? must_format(", about %.1f s of decoding saved", samples_saved_s(tally))
               : must_copy("");
}

static void print_samples(const struct session *session)
{
    char kept[STK_SIZE_TEXT], used[STK_SIZE_TEXT], unread[STK_SIZE_TEXT];
    uint64_t forms = decoded(session, STK_TALLY_FORMS),
             hits = decoded(session, STK_TALLY_FROM_FORMS);
    if (forms + hits == 0) {
        return;
    }
    char *saved = saved_text(session->tally);
    say("%" PRIu64 " samples kept (%s), %" PRIu64 " images decoded from samples%s", forms,
        size_text(kept, decoded(session, STK_TALLY_FORM_BYTES)), hits, saved);
    free(saved);
    if (decoded(session, STK_TALLY_UNREAD) > 0) {
        fprintf(stderr, "  samples: %" PRIu64 " files of these were not read (%s)\n",
                decoded(session, STK_TALLY_UNREAD),
                size_text(unread, decoded(session, STK_TALLY_UNREAD_BYTES)));
    }
    if (session->samples.grant != NULL) {
        fprintf(stderr, "  samples: %s in %s/" STK_SAMPLES_ROOM "\n",
                size_text(used, samples_used_bytes(&session->samples)), session->tier.home);
    }
}

static uint64_t left_to_torch(const struct session *session)
{
    uint64_t left = 0;
    for (int slot = STK_TALLY_BATCH_REASONS; slot < STK_TALLY_SLOTS; slot++) {
        left += decoded(session, (enum stk_tally_slot)slot);
    }
    return left;
}

static void print_batches(const struct session *session)
{
    uint64_t batches = decoded(session, STK_TALLY_BATCHES), left = left_to_torch(session);
    if (batches + left == 0) {
        return;
    }
    say("%" PRIu64 " batches in slots, %" PRIu64 " samples of them made in place, %" PRIu64
        " tensors copied into slots, %" PRIu64 " left to torch",
        batches, decoded(session, STK_TALLY_ROWS), decoded(session, STK_TALLY_COPIED), left);
    for (int slot = STK_TALLY_BATCH_REASONS; slot < STK_TALLY_SLOTS; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (decoded(session, why) > 0) {
            fprintf(stderr, "  left: %" PRIu64 " %s (%s)\n", decoded(session, why),
                    stk_tally_name(why), stk_tally_meaning(why));
        }
    }
}

static void print_ahead(const struct request *request, const struct ahead_figures *ahead)
{
    char size[STK_SIZE_TEXT];
    const char *how = ahead->full      ? " (nothing more fitted)"
                      : ahead->stopped ? " (the command ended first)"
                                       : "";
    if (request->warm) {
        say("%" PRIu64 " files (%s) filled ahead of the command, %" PRIu64
            " were there, of %" PRIu64 "%s",
            ahead->filled, size_text(size, ahead->filled_bytes), ahead->present, ahead->found, how);
    }
}

static void print_blocks(const struct stk_run_counts *counts, const struct session *session)
{
    char cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT], filled[STK_SIZE_TEXT];
    const struct finisher_figures *finished = &session->finished;
    if (counts->blocks[STK_BLOCK_READS] > 0) {
        say("%" PRIu64 " reads of big files answered from blocks (%s), for which %s came from the "
            "origin",
            counts->blocks[STK_BLOCK_READS],
            size_text(cache, counts->blocks[STK_BLOCK_BYTES_CACHE]),
            size_text(origin, counts->blocks[STK_BLOCK_BYTES_ORIGIN]));
    }
    if (finished->files > 0) {
        say("%" PRIu64 " big files finished beside the command (%s)", finished->files,
            size_text(filled, finished->bytes));
    }
    print_count(finished->left, "big files could not be finished: no room, or they changed");
}

#define MOST_NAMES 10

static void print_mapped(const struct session *session)
{
    unsigned count;
    uint64_t more;
    struct finisher_mapped *mapped = finisher_list_mapped(&session->run, &count, &more);
    for (unsigned i = 0; i < count && i < MOST_NAMES; i++) {
        fprintf(stderr, "  mapped before it was filled: %s%s\n", mapped[i].path,
                mapped[i].done ? " (filled since)" : "");
    }
    more += count > MOST_NAMES ? count - MOST_NAMES : 0;
    print_count(more, "more were mapped before they were filled");
    if (count > 0) {
        fprintf(stderr,
                "  Such maps read the original for as long as they last. Fill the file first:\n"
                "  stoker warm %s, or stoker run --warm=first\n",
                mapped[0].path);
    }
    finisher_free_mapped(mapped, count);
}

void summary_print(const struct request *request, const struct session *session,
                   const struct stk_run_counts *counts)
{
    char size[STK_SIZE_TEXT];
    uint64_t total[STK_COUNT_KINDS];
    add_up(counts, 0, total);
    if (total[STK_COUNT_OPENS] == 0) {
        explain_nothing(request);
    } else {
        print_table(counts, total);
    }
    if (total[STK_COUNT_OPENS] == 0 && counts->stats_served + counts->stats_asked > 0) {
        fprintf(stderr, "  (%" PRIu64 " stats were seen.)\n",
                counts->stats_served + counts->stats_asked);
    }
    print_blocks(counts, session);
    print_mapped(session);
    print_ahead(request, &session->ahead);
    print_decoded(session);
    print_samples(session);
    print_batches(session);
    if (session->given_back_bytes > 0) {
        fprintf(stderr, "  Memory was short: %s of cached files were removed for the job's sake.\n",
                size_text(size, session->given_back_bytes));
    }
    if (counts->stale > 0) {
        fprintf(stderr,
                "  Readers kept old bytes (%" PRIu64
                "): their own process wrote the file, and they had it mapped privately\n"
                "  or were reading it, or there was no descriptor or map to spare. Do not cover "
                "what is written.\n",
                counts->stale);
    }
}

/* ---- JSON ---- */

static void write_counts(FILE *out, const uint64_t row[STK_COUNT_KINDS])
{
    fprintf(
        out,
        "\"opens\": %" PRIu64 ", \"hits\": %" PRIu64 ", \"fills\": %" PRIu64
        ", \"bytes_cache\": %" PRIu64 ", \"bytes_origin\": %" PRIu64 ", \"origin_wait_s\": %.6f",
        row[STK_COUNT_OPENS], row[STK_COUNT_HITS], row[STK_COUNT_FILLS], row[STK_COUNT_BYTES_CACHE],
        row[STK_COUNT_BYTES_ORIGIN], (double)row[STK_COUNT_WAIT_NS] / 1e9);
}

static void write_bypassed(FILE *out, const struct stk_run_counts *counts)
{
    const char *comma = "";
    fprintf(out, "  \"bypassed\": {");
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (counts->bypassed[why] > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, comma, stk_bypass_name((enum stk_bypass)why),
                    counts->bypassed[why]);
            comma = ", ";
        }
    }
    fprintf(out, "},\n");
}

static void write_decoded(FILE *out, const struct session *session)
{
    const char *comma = "";
    fprintf(out, "  \"decode\": {\"images\": %" PRIu64 ", \"settled\": {",
            decoded(session, STK_TALLY_IMAGES));
    for (int slot = STK_TALLY_IMAGES + 1; slot < STK_TALLY_REASONS; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (decoded(session, why) > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, comma, stk_tally_name(why), decoded(session, why));
            comma = ", ";
        }
    }
    fprintf(out, "}, \"resized\": %" PRIu64 "},\n", decoded(session, STK_TALLY_RESIZED));
}

static void write_batches(FILE *out, const struct session *session)
{
    const char *comma = "";
    fprintf(out,
            "  \"batches\": {\"slots\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"copied\": %" PRIu64
            ", \"left\": {",
            decoded(session, STK_TALLY_BATCHES), decoded(session, STK_TALLY_ROWS),
            decoded(session, STK_TALLY_COPIED));
    for (int slot = STK_TALLY_BATCH_REASONS; slot < STK_TALLY_SLOTS; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (decoded(session, why) > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, comma, stk_tally_name(why), decoded(session, why));
            comma = ", ";
        }
    }
    fprintf(out, "}},\n");
}

static void write_samples(FILE *out, const struct session *session)
{
    const char *set = getenv(stk_option_table[STK_OPTION_SAMPLES].variable);
    fprintf(out, "  \"samples\": {\"setting\": ");
    json_string(out, set != NULL ? set : "");
    fprintf(out,
            ", \"budget_bytes\": %" PRIu64 ", \"used_bytes\": %" PRIu64 ", \"kept\": %" PRIu64
            ", \"kept_bytes\": %" PRIu64 ", \"hits\": %" PRIu64 ", \"unread\": %" PRIu64
            ", \"unread_bytes\": %" PRIu64 ", \"saved_s\": %.6f},\n",
            samples_budget_bytes(&session->samples), samples_used_bytes(&session->samples),
            decoded(session, STK_TALLY_FORMS), decoded(session, STK_TALLY_FORM_BYTES),
            decoded(session, STK_TALLY_FROM_FORMS), decoded(session, STK_TALLY_UNREAD),
            decoded(session, STK_TALLY_UNREAD_BYTES),
            session->tally != NULL ? samples_saved_s(session->tally) : 0.0);
}

static void write_ahead(FILE *out, const struct ahead_figures *ahead)
{
    fprintf(out,
            "  \"ahead\": {\"found\": %" PRIu64 ", \"done\": %" PRIu64 ", \"filled\": %" PRIu64
            ", \"filled_bytes\": %" PRIu64 ", \"present\": %" PRIu64 ", \"full\": %s},\n",
            ahead->found, ahead->done, ahead->filled, ahead->filled_bytes, ahead->present,
            ahead->full ? "true" : "false");
}

static void write_blocks(FILE *out, const struct stk_run_counts *counts)
{
    fprintf(out,
            "  \"blocks\": {\"reads\": %" PRIu64 ", \"bytes_cache\": %" PRIu64
            ", \"bytes_origin\": %" PRIu64 "},\n",
            counts->blocks[STK_BLOCK_READS], counts->blocks[STK_BLOCK_BYTES_CACHE],
            counts->blocks[STK_BLOCK_BYTES_ORIGIN]);
}

static void write_finished(FILE *out, const struct session *session)
{
    unsigned count;
    uint64_t more;
    const struct finisher_figures *finished = &session->finished;
    struct finisher_mapped *mapped = finisher_list_mapped(&session->run, &count, &more);
    fprintf(out,
            "  \"finished\": {\"files\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"left\": %" PRIu64
            "},\n  \"mapped\": [",
            finished->files, finished->bytes, finished->left);
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "%s{\"path\": ", i > 0 ? ", " : "");
        json_string(out, mapped[i].path);
        fprintf(out, ", \"filled\": %s}", mapped[i].done ? "true" : "false");
    }
    fprintf(out, "],\n");
    finisher_free_mapped(mapped, count);
}

static void write_epochs(FILE *out, const struct stk_run_counts *counts)
{
    int epochs = count_epochs(counts);
    fprintf(out, "  \"epochs\": [");
    for (int epoch = 0; epoch < epochs; epoch++) {
        fprintf(out, "%s\n    {\"epoch\": %d, ", epoch > 0 ? "," : "", epoch + 1);
        write_counts(out, counts->epochs[epoch]);
        fprintf(out, "}");
    }
    fprintf(out, "%s]\n", epochs > 0 ? "\n  " : "");
}

static void write_tier(FILE *out, const struct session *session)
{
    static const struct stk_budget none;
    const struct stk_budget *budget =
        session->tier.shared != NULL ? &session->tier.shared->budget : &none;
    fprintf(out, "  \"tier\": {\"path\": ");
    json_string(out, session->tier.home);
    fprintf(out,
            ", \"budget_bytes\": %" PRId64 ", \"budget_inodes\": %" PRId64
            ", \"used_bytes\": %" PRId64 ", \"used_inodes\": %" PRId64
            ", \"given_back_bytes\": %" PRIu64 "},\n",
            budget->blocks * STK_BLOCK_BYTES, budget->inodes, budget->used_blocks * STK_BLOCK_BYTES,
            budget->used_inodes, session->given_back_bytes);
}

void summary_write_json(int fd, const struct request *request, const struct session *session,
                        const struct stk_run_counts *counts, int status, double seconds)
{
    uint64_t total[STK_COUNT_KINDS];
    FILE *out = fdopen(fd, "w");
    if (out == NULL) {
        return;
    }
    add_up(counts, 0, total);
    fprintf(out, "{\n  \"version\": 1,\n  \"paths\": ");
    json_strings(out, request->spelled, request->count);
    fprintf(out, ",\n  \"command\": ");
    json_strings(out, request->command, json_count(request->command));
    fprintf(out, ",\n  \"status\": %d,\n  \"seconds\": %.3f,\n  ", command_exit_status(status),
            seconds);
    write_counts(out, total);
    fprintf(out, ",\n  \"files\": %" PRIu64 ",\n", counts->epochs[0][STK_COUNT_OPENS]);
    fprintf(out,
            "  \"stats_served\": %" PRIu64 ", \"stats_asked\": %" PRIu64 ", \"stale\": %" PRIu64
            ",\n",
            counts->stats_served, counts->stats_asked, counts->stale);
    write_bypassed(out, counts);
    write_blocks(out, counts);
    write_finished(out, session);
    write_decoded(out, session);
    write_samples(out, session);
    write_batches(out, session);
    write_tier(out, session);
    if (request->warm) {
        write_ahead(out, &session->ahead);
    }
    write_epochs(out, counts);
    fprintf(out, "}\n");
    if (fflush(out) != 0) {
        say("--json %s: could not be written", request->json);
    }
    fclose(out);
}
