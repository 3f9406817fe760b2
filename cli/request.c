/* The flags of `stoker run`, `warm` and `env`. See cli/request.h. */
#include "cli/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "cli/flag.h"
#include "cli/group.h"
#include "cli/paths.h"
#include "cli/python.h"
#include "cli/refusal.h"
#include "cli/request_tiers.h"
#include "cli/samples_place.h"
#include "cli/say.h"

/* ---- flags ---- */

/* Where parsing stands. */
struct cursor {
    char **at;
    char *tiers;       /* the flags, as a list; NULL: there is none */
    const char *share; /* the flag; NULL: there is none */
};

static void take_fresh(struct request *request, const char *value)
{
    const char *complaint = stk_option_complaint(STK_OPTION_FRESH, value);
    if (complaint != NULL) {
        die("--fresh %s: %s", value, complaint);
    }
    request->fresh = value;
}

/* SIZE, or what the variable takes: DIR[:SIZE] or 0. */
static void take_samples(struct request *request, const char *value)
{
    int64_t bytes;
    const char *complaint = stk_option_complaint(STK_OPTION_SAMPLES, value);
    bool is_size = stk_text_parse_size(value, &bytes) == 0;
    if (!is_size && (strchr(value, '/') == NULL || complaint != NULL)) {
        die("--samples %s: write a size, such as 20G, a directory of your own, DIR[:SIZE], or 0",
            value);
    }
    request->samples = value;
    request->samples_kind = is_size && bytes > 0 ? SAMPLES_OURS : SAMPLES_NAMED;
    request->samples_bytes = is_size && bytes > 0 ? bytes : -1;
}

/* Of a build without a store: who has asked for one shall not wait for it in vain. */
static void refuse_samples(struct request *request, const char *asked)
{
    bool wanted = asked != NULL && *asked != '\0' && strcmp(asked, "0") != 0;
    if (wanted && !python_decodes()) {
        die("samples in %s: this stoker decodes nothing, as it was installed without its Python "
            "package, which wants CPython 3.11 or later; or --samples 0",
            asked);
    }
    if (wanted) {
        die("samples in %s: this build has no sample store, for want of LMDB: apt-get install "
            "liblmdb-dev (Fedora: dnf install lmdb-devel), then make again; or --samples 0",
            asked);
    }
    request->samples = "0";
    request->samples_kind = SAMPLES_NAMED;
}

/* Leaves samples out if this node does not let their directory be used, and says so. */
static void settle_samples_place(struct request *request)
{
    bool named = request->samples_kind == SAMPLES_NAMED && request->samples != NULL &&
                 strcmp(request->samples, "0") != 0;
    if (named && !samples_place_check(request, request->samples)) {
        request->samples = "0";
    }
}

static void settle_samples(struct request *request)
{
    const char *value = getenv(stk_option_table[STK_OPTION_SAMPLES].variable);
    if (request->samples == NULL && value != NULL && *value != '\0') {
        request->samples_kind = SAMPLES_AS_SET;
    }
    if (!python_keeps_samples()) {
        refuse_samples(request, request->samples != NULL ? request->samples : value);
    }
    settle_samples_place(request);
}

/* A number from 1 to `most`, and what is behind it. */
static bool take_number(const char *text, const char **end, unsigned most, unsigned *out)
{
    char *behind;
    unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &behind, 10) : 0;
    *out = (unsigned)number;
    *end = number > 0 ? behind : text;
    return number > 0 && number <= most;
}

static void take_jobs(struct request *request, const char *value)
{
    const char *end;
    if (!take_number(value, &end, REQUEST_MOST_JOBS, &request->jobs) || *end != '\0') {
        die("--jobs %s: write how many files to fill at a time, 1 to %d", value, REQUEST_MOST_JOBS);
    }
}

/* Whether it means a part, and not a group, of which `stoker warm` takes the name only. */
static bool is_part(const char *value)
{
    return (*value >= '0' && *value <= '9') || *value == '\0' || strchr(value, '/') != NULL;
}

static void take_share(struct request *request, const char *value)
{
    const char *end = value;
    bool good = take_number(value, &end, REQUEST_MOST_NODES, &request->node) && *end == '/' &&
                take_number(end + 1, &end, REQUEST_MOST_NODES, &request->nodes) && *end == '\0';
    if (!good || request->node > request->nodes) {
        die("--share %s: write I/N, such as 1/4 on the first of four nodes (at most %d)", value,
            REQUEST_MOST_NODES);
    }
}

static void add_tier_flag(struct cursor *cursor, const char *value)
{
    cursor->tiers =
        cursor->tiers != NULL ? must_append(cursor->tiers, ",%s", value) : must_copy(value);
}

/* What concerns the cache, whoever fills it. */
static bool take_cache_flag(struct request *request, struct cursor *cursor)
{
    const char *value;
    if ((value = flag_value(&cursor->at, "--path")) != NULL) {
        paths_add(request, "--path ", value);
    } else if ((value = flag_value(&cursor->at, "--tier")) != NULL) {
        add_tier_flag(cursor, value);
    } else if ((value = flag_value(&cursor->at, "--share")) != NULL) {
        if (request->warm_only && is_part(value)) {
            take_share(request, value);
        } else {
            cursor->share = value;
        }
    } else if ((value = flag_value(&cursor->at, "--fresh")) != NULL) {
        take_fresh(request, value);
    } else if ((value = flag_value(&cursor->at, "--jobs")) != NULL) {
        take_jobs(request, value);
    } else if (strcmp(*cursor->at, "--keep") == 0) {
        request->keep = true;
    } else if (strcmp(*cursor->at, "--require-cache") == 0) {
        request->require_cache = true;
    } else {
        return false;
    }
    return true;
}

static bool take_flag(struct request *request, struct cursor *cursor)
{
    const char *value;
    if (take_cache_flag(request, cursor)) {
        return true;
    }
    if ((value = flag_value(&cursor->at, "--json")) != NULL) {
        request->json = value;
    } else if ((value = flag_value(&cursor->at, "--samples")) != NULL) {
        take_samples(request, value);
    } else if (strcmp(*cursor->at, "--auto") == 0) {
        request->automatic = true;
    } else if (strcmp(*cursor->at, "--warm") == 0) {
        request->warm = true;
    } else if (strcmp(*cursor->at, "--warm=first") == 0) {
        request->warm = true;
        request->warm_first = true;
    } else if (strcmp(*cursor->at, "--no-decode") == 0) {
        request->no_decode = true;
    } else if (strcmp(*cursor->at, "--no-torchvision") == 0) {
        request->no_torchvision = true;
    } else if (strcmp(*cursor->at, "--no-batches") == 0) {
        request->no_batches = true;
    } else if (strcmp(*cursor->at, "--no-history") == 0) {
        request->no_history = true;
    } else {
        return false;
    }
    return true;
}

/* Values that come by the environment are checked as flags are, before a guest would ignore them.
 */
static void check_environment(void)
{
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        const char *value = getenv(row->variable);
        const char *complaint = value != NULL && *value != '\0'
                                    ? stk_option_complaint((enum stk_option)i, value)
                                    : NULL;
        if (complaint != NULL) {
            die("%s=%s: %s", row->variable, value, complaint);
        }
    }
}

static bool is_set_to(enum stk_option option, const char *wanted)
{
    const char *value = getenv(stk_option_table[option].variable);
    return value != NULL && strcmp(value, wanted) == 0;
}

static void settle_switches(struct request *request)
{
    request->require_cache = request->require_cache || is_set_to(STK_OPTION_REQUIRE, "on");
    request->no_decode = request->no_decode || is_set_to(STK_OPTION_DECODE, "off");
    request->no_batches = request->no_batches || is_set_to(STK_OPTION_BATCHES, "off");
}

static void add_paths_of_environment(struct request *request)
{
    char path[4096];
    const char *list = getenv(stk_option_table[STK_OPTION_PATHS].variable);
    while (list != NULL && stk_options_next_path(&list, path, sizeof path)) {
        paths_add(request, "--path ", path);
    }
}

/* Says for each path that this node cannot look at that it is not covered. */
static void pass_over_away(struct request *request)
{
    enum refusal_loss loss = request->count > 0 ? REFUSAL_PART : REFUSAL_ALL;
    for (unsigned i = 0; i < request->away_count; i++) {
        refusal_tell(request, loss, "%s: %sname a directory that can be read", request->away[i],
                     refusal_goes_on(request, loss));
    }
    request->no_tier = request->no_tier || (request->away_count > 0 && loss == REFUSAL_ALL);
}

static bool names_paths(const struct request *request)
{
    return request->count > 0 || request->away_count > 0;
}

static void settle_paths(struct request *request)
{
    if (!names_paths(request)) {
        add_paths_of_environment(request);
    }
    if (!names_paths(request) && request->command != NULL) {
        paths_detect(request);
    }
    pass_over_away(request);
    if (!names_paths(request)) {
        die("nothing to cover: name the data set with --path DIR%s",
            request->command != NULL ? " (none of the command's arguments is one)" : "");
    }
}

void request_parse(struct request *request, char **arguments, bool needs_command)
{
    struct cursor cursor = {.at = arguments};
    *request = (struct request){.samples_bytes = -1};
    for (; *cursor.at != NULL && (*cursor.at)[0] == '-'; cursor.at++) {
        if (strcmp(*cursor.at, "--") == 0) {
            cursor.at++;
            break;
        }
        if (!take_flag(request, &cursor)) {
            die_wrong("unknown option %s (the command goes behind --)", *cursor.at);
        }
    }
    request->command = *cursor.at != NULL ? cursor.at : NULL;
    if (request->jobs > 0 && !request->warm) {
        die("--jobs %u is how many files --warm fills at a time: give both, or none",
            request->jobs);
    }
    if (needs_command && request->command == NULL) {
        die("no command: write `stoker run --path DIR -- COMMAND...`");
    }
    if (!needs_command && request->command != NULL) {
        die_wrong("unexpected argument %s", *request->command);
    }
    check_environment();
    settle_switches(request);
    settle_samples(request);
    request_settle_tiers(request, cursor.tiers);
    free(cursor.tiers);
    settle_paths(request);
    if (!request->no_tier) {
        request_settle_small(request);
    }
    request_check_tier_places(request);
    group_settle(request, cursor.share);
    request->parts = request->canonical;
    request->part_count = request->count;
}

/* ---- filling ahead ---- */

static bool take_warm_flag(struct request *request, struct cursor *cursor)
{
    const char *value;
    if (take_cache_flag(request, cursor)) {
        return true;
    }
    if (strcmp(*cursor->at, "--dry-run") == 0) {
        request->dry_run = true;
    } else if (strcmp(*cursor->at, "--samples") == 0) {
        request->forms = true; /* no word behind it: that is a path */
    } else if ((value = flag_value(&cursor->at, "--samples")) != NULL) {
        request->forms = true;
        take_samples(request, value);
    } else {
        return false;
    }
    return true;
}

/* Flags may stand behind paths, too. The paths are left at the front of the arguments, and
 * counted. */
static unsigned take_warm_arguments(struct request *request, struct cursor *cursor, char **paths)
{
    unsigned count = 0;
    bool flags = true;
    for (; *cursor->at != NULL; cursor->at++) {
        if (!flags || (*cursor->at)[0] != '-') {
            paths[count++] = *cursor->at;
        } else if (strcmp(*cursor->at, "--") == 0) {
            flags = false;
        } else if (!take_warm_flag(request, cursor)) {
            die_wrong("unknown option %s", *cursor->at);
        }
    }
    return count;
}

/* One of the paths that are to be filled; what is covered is known. */
static char *part_of(const struct request *request, const char *path)
{
    char *canonical = realpath(path, NULL);
    if (*path == '\0' || canonical == NULL) {
        die("%s: %s: name a directory or file that is there", path,
            *path == '\0' ? "empty" : strerror(errno));
    }
    for (unsigned i = 0; i < request->count; i++) {
        if (paths_is_below(canonical, request->canonical[i])) {
            return canonical;
        }
    }
    die("%s lies outside of %s, which --path or STOKER_PATHS covers: name a path below it", path,
        request->spelled[0]);
}

/* What is covered decides under which names files are found again: so a part of it is filled as
 * that, if it is said what the whole is. */
static void settle_parts(struct request *request, char **paths, unsigned count)
{
    if (!names_paths(request)) {
        add_paths_of_environment(request);
    }
    bool parts = request->count > 0 && count > 0;
    for (unsigned i = 0; !parts && i < count; i++) {
        paths_add(request, "", paths[i]);
    }
    pass_over_away(request);
    if (!names_paths(request)) {
        die("nothing to fill: name the data set: `stoker warm DIR`");
    }
    request->parts = parts ? must_allocate(count * sizeof *request->parts) : request->canonical;
    request->part_count = parts ? count : request->count;
    for (unsigned i = 0; parts && i < count; i++) {
        request->parts[i] = part_of(request, paths[i]);
    }
}

static void settle_forms(struct request *request)
{
    if (request->samples != NULL && strcmp(request->samples, "0") == 0) {
        die("--samples 0 keeps none: write --samples, --samples=SIZE or --samples=DIR[:SIZE]");
    }
    if (request->forms && !python_keeps_samples()) {
        refuse_samples(request, "the tier");
    }
    if (request->forms) {
        settle_samples(request);
        request->forms = request->samples == NULL || strcmp(request->samples, "0") != 0;
    } else {
        request->samples = "0";
        request->samples_kind = SAMPLES_NAMED;
    }
}

void request_parse_warm(struct request *request, char **arguments)
{
    struct cursor cursor = {.at = arguments};
    *request = (struct request){.samples_bytes = -1, .warm_only = true};
    unsigned count = take_warm_arguments(request, &cursor, arguments);
    request->keep = true;
    check_environment();
    settle_switches(request);
    settle_forms(request);
    request_settle_tiers(request, cursor.tiers);
    free(cursor.tiers);
    settle_parts(request, arguments, count);
    request_settle_small(request);
    request_check_tier_places(request);
    group_settle(request, cursor.share);
}

/* ---- as variables ---- */

static void append_path(char **list, const char *path)
{
    char *quoted = paths_quote(path);
    *list = must_append(*list, "%s%s", **list != '\0' ? ":" : "", quoted);
    free(quoted);
}

char *request_paths(const struct request *request)
{
    char *list = must_copy("");
    for (unsigned i = 0; i < request->count; i++) {
        append_path(&list, request->spelled[i]);
        if (strcmp(request->spelled[i], request->canonical[i]) != 0) {
            append_path(&list, request->canonical[i]);
        }
    }
    return list;
}

static void set(enum stk_option option, const char *value)
{
    if (setenv(stk_option_table[option].variable, value, 1) != 0) {
        die("out of memory");
    }
}

/* Puts the value of `before` in front of a list: PATH[:PATH]... */
static void put_before(enum stk_option list, enum stk_option before)
{
    const char *value = getenv(stk_option_table[list].variable);
    const char *first = getenv(stk_option_table[before].variable);
    if (first != NULL && *first != '\0') {
        char *both = must_format("%s:%s", first, value != NULL ? value : "");
        set(list, both);
        free(both);
    }
}

/* Exports the paths and names of the runs around this one: processes tell those runs of changes. */
static void export_outer(void)
{
    const char *run = getenv(stk_option_table[STK_OPTION_RUN].variable);
    if (run != NULL && *run != '\0') {
        put_before(STK_OPTION_OUTER_PATHS, STK_OPTION_PATHS);
        put_before(STK_OPTION_OUTER_RUNS, STK_OPTION_RUN);
    }
}

void request_export(const struct request *request, const char *run)
{
    char *paths = request_paths(request), *tiers = request_tiers(request);
    export_outer();
    set(STK_OPTION_PATHS, paths);
    set(STK_OPTION_TIERS, tiers);
    set(STK_OPTION_RUN, run);
    if (request->fresh != NULL) {
        set(STK_OPTION_FRESH, request->fresh);
    }
    if (request->files_left != NULL) {
        set(STK_OPTION_FILES, "off");
    }
    if (request->share != NULL) {
        set(STK_OPTION_SHARE, request->share);
    }
    free(paths);
    free(tiers);
}
