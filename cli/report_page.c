/* The page: what stands at its top and around its sections. See cli/report_page.h. */
#include "cli/report_page.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/holding.h"
#include "cli/say.h"
#include "cli/summary_lines.h"

#define MOST_COMMAND 4000 /* bytes of it that are shown */

/* ---- the top ---- */

static double rate(const struct stretch *stretch)
{
    return stretch->seconds > 0 ? (double)stretch->count / stretch->seconds : 0;
}

/* Whether the job read big files by blocks more than it opened any: opens then tell little. */
static bool is_by_reads(const struct figures *figures)
{
    return figures->counts->blocks[STK_BLOCK_READS] > figures->total[STK_COUNT_OPENS];
}

static double cached_bytes(const struct figures *figures)
{
    return (double)(figures->total[STK_COUNT_BYTES_CACHE] +
                    figures->counts->blocks[STK_BLOCK_BYTES_CACHE]);
}

static double origin_bytes(const struct figures *figures)
{
    return (double)(figures->total[STK_COUNT_BYTES_ORIGIN] +
                    figures->counts->blocks[STK_BLOCK_BYTES_ORIGIN]);
}

static void put_headline(FILE *out, const struct figures *figures)
{
    double bytes = cached_bytes(figures);
    if (is_by_reads(figures)) {
        fprintf(out, "<h1>%.0f%% of the bytes read came from the cache</h1>\n",
                percent(bytes, bytes + origin_bytes(figures)));
    } else if (figures->total[STK_COUNT_OPENS] > 0) {
        fprintf(out, "<h1>%.0f%% of the files opened came from the cache</h1>\n",
                percent((double)figures->total[STK_COUNT_HITS],
                        (double)figures->total[STK_COUNT_OPENS]));
    } else {
        fputs("<h1>No file below the covered paths was opened</h1>\n", out);
    }
}

/* How much of it is shown: no character is cut. */
static size_t shown_length(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        int next = stk_text_sequence(text + length);
        size_t longer = length + (size_t)(next > 0 ? next : 1);
        if (longer > MOST_COMMAND) {
            break;
        }
        length = longer;
    }
    return length;
}

static void put_command(FILE *out, char **command)
{
    char *text = must_copy("");
    for (char **word = command; *word != NULL; word++) {
        text = must_append(text, "%s%s", *text != '\0' ? " " : "", *word);
    }
    text[shown_length(text)] = '\0';
    fputs("<code class=\"command\">", out);
    page_text(out, text);
    fputs("</code>\n", out);
    free(text);
}

static void put_fact(FILE *out, const char *name, const char *text)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    page_text(out, text);
    fputs("</dd>\n", out);
}

static void put_end_fact(FILE *out, const struct recorded *run)
{
    char seconds[PAGE_TEXT];
    page_seconds(seconds, run->figures->run_s);
    char *text = run->outside ? must_format("%s, without stoker run", seconds)
                 : run->ended
                     ? must_format("%s, exit status %d", seconds, command_exit_status(run->status))
                     : must_format("%s so far: it had not ended when this was written, or its "
                                   "stoker run was killed",
                                   seconds);
    put_fact(out, "Lasted", text);
    free(text);
}

static void put_cache_fact(FILE *out, const struct session *session)
{
    char *holding = holding_text(&session->tier);
    char *text = must_format("%s, %s", session->tier.home, holding);
    put_fact(out, "Cache", text);
    free(text);
    free(holding);
}

static void put_facts(FILE *out, const struct recorded *run)
{
    char began[64] = "";
    struct tm local;
    if (localtime_r(&run->began, &local) != NULL) {
        strftime(began, sizeof began, "%Y-%m-%d %H:%M:%S", &local);
    }
    fputs("<dl class=\"facts\">\n", out);
    put_fact(out, "Began", began);
    put_end_fact(out, run);
    put_fact(out, "Machine", run->machine);
    for (unsigned i = 0; i < run->figures->request->count; i++) {
        put_fact(out, i == 0 ? "Origin" : "", run->figures->request->spelled[i]);
    }
    if (run->figures->session->tier.shared != NULL) {
        put_cache_fact(out, run->figures->session);
    }
    fputs("</dl>\n<p class=\"note\">The <em>origin</em> is where the data set lies. The "
          "<em>cache</em> holds copies of its files on this machine, made when they are first "
          "read.</p>\n",
          out);
}

/* ---- the tiles ---- */

static void put_tile(FILE *out, const char *name, const char *value, const char *note)
{
    fprintf(out, "<li><span>%s</span><b>%s</b><span class=\"note\">%s</span></li>\n", name, value,
            note);
}

static void put_opens_tile(FILE *out, const struct figures *figures)
{
    uint64_t opens = figures->total[STK_COUNT_OPENS], hits = figures->total[STK_COUNT_HITS];
    char *value = must_format("%.1f%%", percent((double)hits, (double)opens));
    char files[FIGURES_FILES_TEXT];
    char *note = must_format("%" PRIu64 " of %" PRIu64 " opens%s", hits, opens,
                             figures_files_text(files, figures->counts));
    if (opens > 0 && !is_by_reads(figures)) {
        put_tile(out, "From the cache", value, note);
    }
    free(note);
    free(value);
}

/* Only passes are epochs; of n-th opens that took a moment nobody can say how fast they were. */
static void put_speed_tile(FILE *out, const struct figures *figures)
{
    bool passes = figures->by_passes;
    double least_s = passes ? 0 : REPORT_RATED_S;
    double first = figures->first.seconds >= least_s ? rate(&figures->first) : 0;
    double later = figures->later.seconds >= least_s ? rate(&figures->later) : 0;
    const char *unit = passes ? "samples" : "files";
    if (first > 0 && later > 0) {
        char *value = must_format("%.1f times", later / first);
        char *note = must_format("%.0f %s per second, %.0f in %s", later, unit, first,
                                 passes ? "epoch 1" : "first opens");
        put_tile(out, passes ? "Later epochs are faster" : "Later opens are faster", value, note);
        free(note);
        free(value);
    } else if (first > 0) {
        char *value = must_format("%.0f", first);
        char *note =
            must_format("%s per second in %s", unit, passes ? "the only epoch" : "first opens");
        put_tile(out, "Speed", value, note);
        free(note);
        free(value);
    }
}

static void put_waiting_tile(FILE *out, const struct figures *figures)
{
    const struct stretch *last = figures->passes > 1 ? &figures->later : &figures->first;
    char *value = must_format("%.0f%%", percent(last->waited_s, last->seconds));
    char *note = must_format("%.1f s of the %.1f s of %s", last->waited_s, last->seconds,
                             figures->passes > 1 ? "the later epochs" : "the epoch");
    if (figures->by_passes && last->seconds > 0) {
        put_tile(out, "Waiting for data", value, note);
    }
    free(note);
    free(value);
}

static void put_bytes_tile(FILE *out, const struct figures *figures)
{
    char cache[STK_SIZE_TEXT], origin[STK_SIZE_TEXT];
    char *note = must_format("came from the cache; the origin gave %s",
                             size_text(origin, (uint64_t)origin_bytes(figures)));
    put_tile(out, "Not read again", size_text(cache, (uint64_t)cached_bytes(figures)), note);
    free(note);
}

static void put_reads_tile(FILE *out, const struct figures *figures)
{
    char *value = must_format("%" PRIu64, figures->counts->blocks[STK_BLOCK_READS]);
    if (is_by_reads(figures)) {
        put_tile(out, "Reads from the cache", value, "of big files, which are cached in blocks");
    }
    free(value);
}

static void put_tiles(FILE *out, const struct figures *figures)
{
    fputs("<ul class=\"tiles\">\n", out);
    put_opens_tile(out, figures);
    put_reads_tile(out, figures);
    put_speed_tile(out, figures);
    put_waiting_tile(out, figures);
    put_bytes_tile(out, figures);
    fputs("</ul>\n", out);
}

/* ---- what to change ---- */

static const char *const verdicts[] = {
    [BOUND_UNKNOWN] = "No DataLoader of torch was seen at work for long enough to tell what held "
                      "the job up.",
    [BOUND_NOT] =
        "The data kept up: the job's own step set the pace: what it computes, or copies to a "
        "GPU that it begins itself.",
    [BOUND_FETCH] = "The job was fetch-bound: what it waited for most was the origin.",
    [BOUND_DECODE] = "The job was decode-bound: its workers spent most of their time turning "
                     "JPEGs into pixels.",
    [BOUND_BATCH] = "The job was batch-bound: its workers spent most of their time laying samples "
                    "side by side as one batch.",
    [BOUND_OTHER] = "The job was bound by transforms: its workers spent most of their time in the "
                    "data set's own code, and reading what is cached.",
    [BOUND_UPLOAD] = "The job was upload-bound: its steps waited most for batches on their way to "
                     "the GPU.",
    [BOUND_START] = "The job was start-bound: its later epochs waited most for the first batches "
                    "of new workers.",
};

/* A piece of a text, as it is or as what a user types. */
static void put_piece(FILE *out, const char *text, size_t length, const char *class)
{
    char *piece = must_format("%.*s", (int)length, text);
    if (class != NULL) {
        fprintf(out, "<code class=\"%s\">", class);
    }
    page_text(out, piece);
    fputs(class != NULL ? "</code>" : "", out);
    free(piece);
}

/* How long what a user types is that begins here, with what is around it; 0: nothing does.
 * Commands stand between backquotes, flags begin with dashes. */
static size_t typed(const char *text)
{
    const char *end = *text == '`' ? strchr(text + 1, '`') : NULL;
    return end != NULL                   ? (size_t)(end + 1 - text)
           : strncmp(text, "--", 2) == 0 ? strcspn(text, " ,;:)")
                                         : 0;
}

static void put_advice(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t plain = 0, length;
        while (text[plain] != '\0' && typed(text + plain) == 0) {
            plain++;
        }
        put_piece(out, text, plain, NULL);
        text += plain;
        length = typed(text);
        if (length > 0) {
            bool quoted = *text == '`';
            put_piece(out, text + quoted, length - 2 * quoted, quoted ? "typed" : "flag");
        }
        text += length;
    }
}

static void put_next(FILE *out, const struct recorded *run)
{
    char *suggested[FIGURES_SUGGESTIONS];
    unsigned count = figures_suggest(run->figures, suggested);
    page_begin(out, "next", "What to change next",
               run->outside ? "Without stoker run only opens are counted: what held the job up is "
                              "not known."
                            : verdicts[run->figures->bound]);
    fputs("<ol class=\"next\">\n", out);
    for (unsigned i = 0; i < count; i++) {
        lines_let_break(suggested[i]);
        suggested[i][0] = (char)toupper((unsigned char)suggested[i][0]);
        fputs("<li>", out);
        put_advice(out, suggested[i]);
        fputs("</li>\n", out);
        free(suggested[i]);
    }
    if (count == 0) {
        fputs(run->outside ? "<li>Use stoker run, which sees more.</li>\n"
                           : "<li>Nothing: these figures name no trouble.</li>\n",
              out);
    }
    fputs("</ol>\n", out);
    page_end(out);
}

/* ---- all of it ---- */

static void put_head(FILE *out, const struct recorded *run)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'\">\n"
          "<title>Stoker report ",
          out);
    page_text(out, run->name);
    fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n<header>\n", report_style);
    fputs("<p class=\"kicker\">Stoker report ", out);
    page_text(out, run->name);
    fputs("</p>\n", out);
    put_headline(out, run->figures);
    put_command(out, run->figures->request->command);
    put_facts(out, run);
    put_tiles(out, run->figures);
    fputs("</header>\n", out);
}

static void put_foot(FILE *out, const struct recorded *run)
{
    fputs("<footer>All figures, for programs: <code>stoker report --json ", out);
    page_text(out, run->name);
    fputs("</code>. Written by stoker " STK_VERSION
          "; this page is one file that loads nothing, and nothing was sent anywhere.</footer>\n"
          "</main>\n</body>\n</html>\n",
          out);
}

void report_page(FILE *out, const struct recorded *run)
{
    put_head(out, run);
    put_next(out, run);
    report_time(out, run);
    report_epochs(out, run);
    report_work(out, run);
    report_waits(out, run);
    report_bypassed(out, run);
    report_images(out, run);
    put_foot(out, run);
}
