#include "cli/summary/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "cli/os/command.h"
#include "cli/os/detached.h"
#include "cli/os/ending.h"
#include "cli/out/say.h"
#include "cli/out/shell_quote.h"
#include "cli/out/summary_lines.h"
#include "cli/run/uncovered.h"

#define PATIENCE_MS 1000 /* for a server that may not answer */

/* Asks about the path, if nothing else explains that no file was opened. */
static void ask_about_path(const struct request *request)
{
    lines_add(LOSSES,
              "  Is the path right? A file's path must begin as --path is spelled, or as that "
              "directory's real path; a link elsewhere that leads there is not followed.");
    lines_add(LOSSES,
              "  Programs that are static, setuid or written in Go do not load the library, and "
              "launchers such as srun, ssh, docker and sudo lose LD_PRELOAD: run stoker inside "
              "them, as in: srun" BREAK_KEEP "stoker" BREAK_KEEP "run" BREAK_KEEP
              "--path" BREAK_KEEP "%s -- COMMAND",
              request->spelled[0]);
}

/* Answers with the number of a covered directory that this user may not read, or with their count.
 */
static void look_for_forbidden(void *context, int out)
{
    const struct request *request = *(const struct request **)context;
    unsigned i = 0;
    while (i < request->count && (access(request->canonical[i], R_OK) == 0 || errno != EACCES)) {
        i++;
    }
    detached_answer(out, &i, sizeof i);
}

/* Returns a covered directory that this user may not read, or NULL; also if its server does not
 * answer. Asks once. */
static const char *find_forbidden(const struct request *request)
{
    static unsigned found;
    static bool is_known;
    if (!is_known && detached_ask(look_for_forbidden, &request, &found, sizeof found,
                                  PATIENCE_MS) != DETACHED_ANSWERED) {
        found = request->count;
    }
    is_known = true;
    return found < request->count ? request->spelled[found] : NULL;
}

static void explain_command(const struct figures *figures)
{
    const char *reason = command_cannot_preload(figures->request->command[0]);
    if (reason != NULL) {
        lines_add(HEAD, "  the command is a %s: the library cannot be loaded into it", reason);
    } else if (figures->outlived) {
        lines_add(HEAD, "  The command has ended, and processes that it started go on without a "
                        "summary: let it wait for them");
    }
    if (reason == NULL && command_exit_status(figures->status) == 0 &&
        find_forbidden(figures->request) == NULL) {
        ask_about_path(figures->request);
    }
}

static void add_proposal(const char *before, const char *directory, const char *behind)
{
    OWNED char *word = shell_quote(directory);
    lines_add(HEAD, "  %s%s%s: try --path" BREAK_KEEP "%s", before, directory, behind, word);
}

/* Adds where files were opened instead. Returns false if that is unknown. */
static bool add_elsewhere(const struct request *request)
{
    const struct uncovered *seen = uncovered_read();
    OWNED char *name = uncovered_other_name(request);
    if (name != NULL) {
        add_proposal("", name, " is another name of what --path names");
    } else if (seen->below > 0) {
        lines_add(HEAD, "  Files below it were open, by another name (a link, or ..) or past the "
                        "library: try --path with the name that the program uses");
    }
    for (unsigned i = 0; i < seen->count && i < 2 && name == NULL; i++) {
        add_proposal("Files were open in ", seen->places[i].directory, "");
    }
    return name != NULL || seen->below > 0 || seen->count > 0;
}

/* Explains without alarm if the job succeeded without opening covered files. Returns true if so. */
static bool explain_mildly(const struct figures *figures)
{
    const struct session *session = figures->session;
    const struct request *request = figures->request;
    uint64_t runs = figures_tallied(session, STK_TALLY_INNER_RUNS);
    uint64_t opens = figures_tallied(session, STK_TALLY_INNER_OPENS);
    uint64_t images = figures_tallied(session, STK_TALLY_IMAGES) + figures_left_to_pillow(session);
    uint64_t results = figures_tallied(session, STK_TALLY_RESULTS_FOUND) +
                       figures_tallied(session, STK_TALLY_RESULTS_KEPT);
    if (runs > 0) {
        lines_add(HEAD,
                  "stoker: served by %" PRIu64 " inner %s of stoker: " COUNTED
                  ", %.1f%% from the cache",
                  runs, plural(runs, "run", "runs"), COUNT_OF(opens, "open", "opens"),
                  percent((double)figures_tallied(session, STK_TALLY_INNER_HITS), (double)opens));
    } else if (images > 0) {
        lines_add(HEAD, "stoker: no file below %s was opened; the images came from elsewhere",
                  request->spelled[0]);
    } else if (results > 0) {
        lines_add(HEAD, "stoker: no file below %s was opened; results of functions were kept",
                  request->spelled[0]);
    }
    return runs + images + results > 0;
}

/* Explains that users which root's processes became may have opened the files. */
static bool explain_run_users(const struct figures *figures)
{
    bool any = figures->run_users != NULL && figures->run_users->count > 0;
    if (any) {
        lines_add(HEAD, "stoker: no process of this user opened a file below %s for reading",
                  figures->request->spelled[0]);
    }
    return any;
}

/* Adds the first line, with what is known to have kept the command from its files. */
static void add_alarm(const struct figures *figures)
{
    const struct request *request = figures->request;
    const char *others = request->count > 1 ? " (or the other paths)" : "";
    const char *forbidden = find_forbidden(request);
    OWNED char *ending = ending_text(figures->status, figures->memory_kills);
    if (forbidden != NULL) {
        lines_add(HEAD, "stoker: NOTHING WAS SERVED: permission denied: this user may not read %s",
                  forbidden);
    } else if (ending != NULL) {
        lines_add(HEAD,
                  "stoker: NOTHING WAS SERVED: the command %s. It had opened no file below %s%s",
                  ending, request->spelled[0], others);
    } else {
        lines_add(HEAD,
                  "stoker: NOTHING WAS SERVED: no process opened a file below %s%s for reading",
                  request->spelled[0], others);
    }
}

/* Explains a job that only looked at directories, which is no reason for an alarm. Returns true if
 * so. */
static bool explain_listings(const struct figures *figures)
{
    uint64_t served = figures->counts->listings_served;
    uint64_t all = served + figures->counts->listings_asked;
    if (all > 0) {
        lines_add(HEAD,
                  "stoker: no file below %s was opened; " COUNTED
                  " of directories, %.1f%% from the cache",
                  figures->request->spelled[0], COUNT_OF(all, "listing", "listings"),
                  percent((double)served, (double)all));
    }
    return all > 0;
}

void summary_explain_nothing(const struct figures *figures)
{
    if (explain_run_users(figures)) {
        return;
    }
    uint64_t stats = figures->counts->stats_served + figures->counts->stats_asked;
    bool failed = command_exit_status(figures->status) != 0;
    bool mild = explain_mildly(figures) || (!failed && explain_listings(figures));
    if (!mild) {
        add_alarm(figures);
    }
    bool known = figures_tallied(figures->session, STK_TALLY_INNER_RUNS) == 0 &&
                 add_elsewhere(figures->request);
    if (!mild && !known) {
        explain_command(figures);
    }
    if (!mild && stats > 0) {
        lines_add(CACHES, "  (" COUNTED " seen.)", COUNT_OF(stats, "stat was", "stats were"));
    }
}
