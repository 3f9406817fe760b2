#include "cli/args/request_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/args/covered_paths.h"
#include "cli/out/flag.h"
#include "cli/args/path_list.h"
#include "cli/args/refusal.h"
#include "cli/args/request_tiers.h"
#include "cli/args/samples_place.h"
#include "cli/args/share_group.h"
#include "cli/os/python.h"
#include "cli/os/variables.h"
#include "cli/out/say.h"
#include "cli/tiers/known_stores.h"

/* ---- flags ---- */

/* The position of the parser. */
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
        die("--decoded %s: write a size, such as 20G, a directory of your own, DIR[:SIZE], or 0",
            value);
    }
    request->samples = value;
    request->samples_kind = is_size && bytes > 0 ? SAMPLES_OURS : SAMPLES_NAMED;
    request->samples_bytes = is_size && bytes > 0 ? bytes : -1;
}

/* Handles a request for decoded copies in a build without a store: ends with a message, so that the
 * user does not wait for them in vain. */
static void refuse_samples(struct request *request, const char *asked)
{
    bool wanted = asked != NULL && *asked != '\0' && strcmp(asked, "0") != 0;
    if (wanted && !python_decodes()) {
        die("decoded copies in %s: this stoker decodes nothing, as it was installed without its "
            "Python "
            "package, which wants CPython 3.11 or later; or --decoded 0",
            asked);
    }
    if (wanted) {
        die("decoded copies in %s: this build cannot keep them, for want of LMDB: apt-get install "
            "liblmdb-dev (Fedora: dnf install lmdb-devel), then make again; or --decoded 0",
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
    } else if (named) {
        stores_remember(request->samples);
    }
}

static void settle_samples(struct request *request)
{
    const char *value = stk_option_value(STK_OPTION_SAMPLES);
    if (request->samples == NULL && value != NULL) {
        request->samples_kind = SAMPLES_AS_SET;
        stores_remember(value);
    }
    if (!python_keeps_samples()) {
        refuse_samples(request, request->samples != NULL ? request->samples : value);
    }
    settle_samples_place(request);
}

/* Parses a number from 1 to `most`. Sets `end` behind it. */
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

/* Returns true if the value of `--share` is I/N, as `stoker warm` took it before it had `--shard`,
 * and not a group. */
static bool is_part(const char *value)
{
    return (*value >= '0' && *value <= '9') || *value == '\0' || strchr(value, '/') != NULL;
}

static void take_shard(struct request *request, const char *flag, const char *value)
{
    const char *end = value;
    bool good = take_number(value, &end, REQUEST_MOST_NODES, &request->node) && *end == '/' &&
                take_number(end + 1, &end, REQUEST_MOST_NODES, &request->nodes) && *end == '\0';
    if (!good || request->node > request->nodes) {
        die("%s %s: write I/N, such as 1/4 on the first of four nodes (at most %d)", flag, value,
            REQUEST_MOST_NODES);
    }
}

/* Returns the value of `--decoded`, or of `--samples` as it was called before, or NULL. */
static const char *decoded_value(struct cursor *cursor)
{
    const char *value = flag_value(&cursor->at, "--decoded");
    return value != NULL ? value : flag_value(&cursor->at, "--samples");
}

static void add_tier_flag(struct cursor *cursor, const char *value)
{
    cursor->tiers =
        cursor->tiers != NULL ? must_append(cursor->tiers, ",%s", value) : must_copy(value);
}

/* A flag without a value, and what it sets. */
struct switch_flag {
    const char *name;
    bool *on;
};

static bool take_switch(const char *argument, const struct switch_flag *switches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argument, switches[i].name) == 0) {
            *switches[i].on = true;
            return true;
        }
    }
    return false;
}

/* Takes a flag of the cache, which `run`, `warm` and `env` share. */
static bool take_cache_flag(struct request *request, struct cursor *cursor)
{
    const char *value;
    if ((value = flag_value(&cursor->at, "--path")) != NULL) {
        paths_add(request, "--path ", value);
    } else if ((value = flag_value(&cursor->at, "--tier")) != NULL) {
        add_tier_flag(cursor, value);
    } else if ((value = flag_value(&cursor->at, "--share")) != NULL) {
        if (request->warm_only && is_part(value)) {
            take_shard(request, "--share", value);
        } else {
            cursor->share = value;
        }
    } else if (request->warm_only && (value = flag_value(&cursor->at, "--shard")) != NULL) {
        take_shard(request, "--shard", value);
    } else if ((value = flag_value(&cursor->at, "--fresh")) != NULL) {
        take_fresh(request, value);
    } else if ((value = flag_value(&cursor->at, "--jobs")) != NULL) {
        take_jobs(request, value);
    } else {
        const struct switch_flag switches[] = {{"--keep", &request->keep},
                                               {"--require-cache", &request->require_cache}};
        return take_switch(*cursor->at, switches, sizeof switches / sizeof *switches);
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
    } else if ((value = decoded_value(cursor)) != NULL) {
        take_samples(request, value);
    } else if (strcmp(*cursor->at, "--warm=first") == 0) {
        request->warm = request->warm_first = true;
    } else if (strcmp(*cursor->at, "--quiet") == 0) {
        request->telling = TELLING_LITTLE;
    } else if (strcmp(*cursor->at, "--verbose") == 0) {
        request->telling = TELLING_ALL;
    } else {
        const struct switch_flag switches[] = {
            {"--auto", &request->automatic},        {"--warm", &request->warm},
            {"--no-decode", &request->no_decode},   {"--no-torchvision", &request->no_torchvision},
            {"--no-batches", &request->no_batches}, {"--no-history", &request->no_history}};
        return take_switch(*cursor->at, switches, sizeof switches / sizeof *switches);
    }
    return true;
}

/* Checks values from the environment as flags are checked: the library in a job's process ignores
 * wrong values silently. */
static void check_environment(void)
{
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        const char *value = stk_option_value((enum stk_option)i);
        const char *complaint =
            value != NULL ? stk_option_complaint((enum stk_option)i, value) : NULL;
        if (complaint != NULL) {
            die("%s=%s: %s", row->variable, value, complaint);
        }
    }
}

static void say_unknown(void *context, const char *name, const char *meant)
{
    (void)context;
    if (meant != NULL) {
        say("%s is no variable of Stoker's: did you mean %s?", name, meant);
    } else {
        say("%s is no variable of Stoker's: `stoker help environment` lists them", name);
    }
}

static void settle_switches(struct request *request)
{
    request->require_cache = request->require_cache || stk_option_is(STK_OPTION_REQUIRE, "on");
    request->no_decode = request->no_decode || stk_option_is(STK_OPTION_DECODE, "off");
    request->no_batches = request->no_batches || stk_option_is(STK_OPTION_BATCHES, "off");
}

static void add_paths_of_environment(struct request *request)
{
    char path[4096];
    const char *list = stk_option_value(STK_OPTION_PATHS);
    while (list != NULL && stk_options_next_path(&list, path, sizeof path)) {
        paths_add(request, "--path ", path);
    }
}

/* Says for each path that this node cannot look at that it is not covered. */
static void pass_over_away(struct request *request)
{
    enum refusal_loss loss = request->count > 0 ? REFUSAL_PART : REFUSAL_ALL;
    for (unsigned i = 0; i < request->away_count; i++) {
        refusal_report(request, loss, "%s: %sname a directory that can be read", request->away[i],
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
        die("nothing to serve: name the data set with --path DIR%s",
            request->command != NULL ? " (none of the command's arguments is a directory; --path "
                                       "takes a single file, too)"
                                     : "");
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
            die_of_option(*cursor.at, " (the command goes behind --)");
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
    variables_find_unknown(say_unknown, NULL);
    settle_switches(request);
    settle_samples(request);
    group_settle(request, cursor.share);
    request_settle_tiers(request, cursor.tiers);
    free(cursor.tiers);
    settle_paths(request);
    if (!request->no_tier) {
        request_settle_small(request);
    }
    request_check_tier_places(request);
    group_check_tiers(request, cursor.share);
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
    } else if (strcmp(*cursor->at, "--decoded") == 0 || strcmp(*cursor->at, "--samples") == 0) {
        request->forms = true; /* its value is never a further word: that would be a path */
    } else if ((value = decoded_value(cursor)) != NULL) {
        request->forms = true;
        take_samples(request, value);
    } else {
        return false;
    }
    return true;
}

/* Takes flags, which may stand behind paths as well. Leaves the paths at the front of the
 * arguments, and returns their number. */
static void take_warm_arguments(struct request *request, struct cursor *cursor,
                                struct path_list *paths)
{
    bool flags = true;
    for (; *cursor->at != NULL; cursor->at++) {
        const char *list;
        if (!flags || (*cursor->at)[0] != '-') {
            path_list_add(paths, *cursor->at);
        } else if (strcmp(*cursor->at, "--") == 0) {
            flags = false;
        } else if ((list = flag_value(&cursor->at, "-f")) != NULL) {
            path_list_read(paths, list);
        } else if (!take_warm_flag(request, cursor)) {
            die_of_option(*cursor->at, "");
        }
    }
}

/* Returns a path to fill as canonical. It must lie below a covered path. */
static char *part_of(const struct request *request, const char *path)
{
    char *canonical = realpath(path, NULL);
    if (*path == '\0' || canonical == NULL) {
        die("%s: %s: name a directory or file that is there", path,
            *path == '\0' ? "empty" : strerror(errno));
    }
    if (paths_cover(request, canonical)) {
        return canonical;
    }
    die("%s lies outside of %s, which --path or STOKER_PATHS names: name a path below it", path,
        request->spelled[0]);
}

/* Settles the paths to fill. The covered root decides under which names files are found again. So
 * with --path or STOKER_PATHS, which name the root, the arguments are parts of it. */
static void settle_parts(struct request *request, const struct path_list *list)
{
    unsigned count = list->count;
    char **paths = list->paths;
    if (!names_paths(request)) {
        add_paths_of_environment(request);
    }
    bool parts = request->count > 0 && count > 0;
    if (!parts && list->listed) {
        die("-f lists parts of a data set: name that with --path DIR, as for the job");
    }
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
        die("--decoded 0 keeps none: write --decoded, --decoded=SIZE or --decoded=DIR[:SIZE]");
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
    struct path_list paths = {.count = 0};
    take_warm_arguments(request, &cursor, &paths);
    request->keep = true;
    check_environment();
    settle_switches(request);
    settle_forms(request);
    group_settle(request, cursor.share);
    request_settle_tiers(request, cursor.tiers);
    free(cursor.tiers);
    settle_parts(request, &paths);
    request_settle_small(request);
    request_check_tier_places(request);
    group_check_tiers(request, cursor.share);
}
