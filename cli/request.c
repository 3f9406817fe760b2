/* The flags of `stoker run`, `warm` and `env`. See cli/request.h. */
#include "cli/request.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "base/options.h"
#include "base/text.h"
#include "cache/tier.h"
#include "cli/group.h"
#include "cli/paths.h"
#include "cli/python.h"
#include "cli/say.h"
#include "cli/shared.h"

/* ---- the tier ---- */

static bool is_in_home(const char *path, const char *tier)
{
    char *home = must_format("%s/stoker-", tier);
    bool inside = strncmp(path, home, strlen(home)) == 0;
    free(home);
    return inside;
}

static void check_tier_place(const struct request *request, const char *tier)
{
    for (unsigned i = 0; i < request->count; i++) {
        if (paths_is_below(tier, request->canonical[i])) {
            die("--tier %s lies inside the covered path %s: name a directory outside of it", tier,
                request->canonical[i]);
        }
        if (is_in_home(request->canonical[i], tier)) {
            die("--path %s lies inside the tier %s: cover the origin, not the cache",
                request->canonical[i], tier);
        }
    }
}

static void check_tier_places(const struct request *request)
{
    for (unsigned i = 0; i < request->tier_count; i++) {
        check_tier_place(request, request->tiers[i].directory);
    }
    if (request->shared.directory[0] != '\0') {
        check_tier_place(request, request->shared.directory);
    }
}

/* What is wrong with the tier's directory itself, before anything is made in it. */
static void check_tier_directory(const char *tier)
{
    struct stat stat_;
    if (lstat(tier, &stat_) != 0) {
        die("--tier %s: %s: name a directory that is there", tier, strerror(errno));
    }
    if (S_ISLNK(stat_.st_mode)) {
        char *target = realpath(tier, NULL);
        die("--tier %s is a symbolic link: name the directory itself%s%s", tier,
            target != NULL ? ", " : "", target != NULL ? target : "");
    }
    if (!S_ISDIR(stat_.st_mode)) {
        die("--tier %s is not a directory: name one", tier);
    }
}

static void parse_tier(struct request_tier *tier, const char **list)
{
    const char *value = *list;
    int error = stk_tier_parse(list, tier->directory, &tier->budget_bytes);
    if (error == -ENAMETOOLONG) {
        die("--tier %s: too long: name a directory of at most %d bytes", value, STK_HOME_BYTES);
    }
    if (tier->directory[0] == '\0') {
        die("--tier %s: no directory: write DIR or DIR:SIZE", value);
    }
    if (error != 0) {
        die("--tier %s: the budget must be a size above zero, such as 60G or 500M", value);
    }
}

static void find_tier(struct request_tier *tier)
{
    char *directory = tier->directory;
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/') {
        directory[--length] = '\0';
    }
    check_tier_directory(directory);
    char *canonical = realpath(directory, NULL);
    if (canonical == NULL || !stk_text_copy(directory, sizeof tier->directory, canonical)) {
        die("--tier %s: %s", directory, strerror(errno));
    }
    if (strpbrk(directory, ",:") != NULL) {
        die("--tier %s: a comma or a colon is no part of a tier's path: name another", directory);
    }
    free(canonical);
}

static bool is_memory(const char *directory)
{
    struct statfs fs;
    return statfs(directory, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* What is computed is all that may be had of a file system or of the memory: for one of them. */
static void check_apart(const struct request_tier *tier, const struct request_tier *before)
{
    struct stat one, other;
    bool computed = tier->budget_bytes == STK_TIER_DEFAULT_BUDGET ||
                    before->budget_bytes == STK_TIER_DEFAULT_BUDGET;
    if (strcmp(tier->directory, before->directory) == 0) {
        die("--tier %s is named twice: name it once, with all of its budget", tier->directory);
    }
    if (is_in_home(tier->directory, before->directory) ||
        is_in_home(before->directory, tier->directory)) {
        die("--tier %s and %s: one lies in what the other keeps: name another", before->directory,
            tier->directory);
    }
    bool same = stat(tier->directory, &one) == 0 && stat(before->directory, &other) == 0 &&
                one.st_dev == other.st_dev;
    if (computed && (same || (is_memory(tier->directory) && is_memory(before->directory)))) {
        die("--tier %s and %s are both in the same %s: give each of them a budget, DIR:SIZE",
            before->directory, tier->directory, same ? "file system" : "memory");
    }
}

static void take_shared(struct request *request, const struct request_tier *tier,
                        const char *canonical)
{
    if (request->shared.directory[0] != '\0') {
        die("--tier %s and %s are both on file systems that may be shared: name one of them",
            request->shared.directory, tier->directory);
    }
    request->shared.budget_bytes = tier->budget_bytes;
    strcpy(request->shared.directory, canonical);
}

/* Whether it is none of this node's: one of several nodes, of which this process asks nothing, or
 * one that does not answer. */
static bool is_elsewhere(struct request *request, const struct request_tier *tier)
{
    char canonical[STK_HOME_BYTES];
    bool usual = strcmp(tier->directory, stk_option_table[STK_OPTION_TIERS].otherwise) == 0;
    enum shared_kind kind = usual ? SHARED_LOCAL : shared_find(tier->directory, canonical);
    if (kind == SHARED_YES) {
        take_shared(request, tier, canonical);
    } else if (kind == SHARED_LATE) {
        say("--tier %s does not answer: going on without it", tier->directory);
    }
    return kind != SHARED_LOCAL;
}

static void add_tier(struct request *request, const char **list)
{
    if (request->tier_count == STK_TIERS) {
        die("--tier %s is one too many: name at most %d", *list, STK_TIERS);
    }
    struct request_tier *tier = &request->tiers[request->tier_count];
    parse_tier(tier, list);
    if (is_elsewhere(request, tier)) {
        return;
    }
    find_tier(tier);
    for (unsigned i = 0; i < request->tier_count; i++) {
        check_apart(tier, &request->tiers[i]);
    }
    request->tier_count++;
}

static void settle_tiers(struct request *request, const char *given)
{
    const char *variable = getenv(stk_option_table[STK_OPTION_TIERS].variable);
    const char *value = given != NULL ? given : variable;
    request->tier_given = given != NULL || (value != NULL && *value != '\0');
    value = request->tier_given ? value : stk_option_table[STK_OPTION_TIERS].otherwise;
    do {
        add_tier(request, &value);
    } while (*value != '\0');
    if (request->tier_count == 0) { /* what is shared is copied into one that is not */
        request->tier_given = false;
        value = stk_option_table[STK_OPTION_TIERS].otherwise;
        add_tier(request, &value);
    }
    char *tiers = request_tiers(request);
    if (strlen(tiers) >= STK_TIERS_BYTES) {
        die("--tier: all together are too long: name directories with shorter paths");
    }
    free(tiers);
}

/* ---- where shared memory is small ---- */

/* Docker gives 64 MiB, which the workers of a DataLoader fill by themselves. */
#define SMALL_BYTES (INT64_C(256) << 20)

static bool is_small(const char *directory, int64_t *bytes)
{
    struct statfs fs;
    bool tmpfs = statfs(directory, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
    *bytes = tmpfs ? (int64_t)fs.f_blocks * fs.f_bsize : 0;
    return tmpfs && *bytes < SMALL_BYTES;
}

/* Whether the variable names a directory on a local disk that can be a tier, outside of what is
 * covered; the caller frees. */
static char *disk_of(const struct request *request, const char *variable)
{
    struct statfs fs;
    const char *value = getenv(variable);
    char *canonical = value != NULL && value[0] == '/' ? realpath(value, NULL) : NULL;
    bool good = canonical != NULL && strlen(canonical) < STK_HOME_BYTES &&
                statfs(canonical, &fs) == 0 && stk_local_is(&fs) && fs.f_type != TMPFS_MAGIC &&
                access(canonical, W_OK) == 0 && stk_home_check_parent(canonical) == 0;
    for (unsigned i = 0; good && i < request->count; i++) {
        good = !paths_is_below(canonical, request->canonical[i]);
    }
    if (!good) {
        free(canonical);
        canonical = NULL;
    }
    return canonical;
}

/* Nothing of ours in a shared memory that the job needs: on a disk that the environment names for
 * such things, or nowhere. */
static void settle_small(struct request *request)
{
    static const char *const variables[] = {"SLURM_TMPDIR", "TMPDIR"};
    char size[STK_SIZE_TEXT], *tier = request->tiers[0].directory;
    int64_t bytes;
    if (request->tier_given || !is_small(tier, &bytes)) {
        return;
    }
    size_text(size, (uint64_t)bytes);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        char *disk = disk_of(request, variables[i]);
        if (disk != NULL) {
            say("%s has only %s, which the job needs itself: caching in %s (%s); name another "
                "place "
                "with --tier DIR",
                tier, size, disk, variables[i]);
            strcpy(tier, disk);
            free(disk);
            return;
        }
    }
    if (request->warm_only) {
        die("%s has only %s, which jobs need themselves: name a local disk with --tier DIR or "
            "TMPDIR, or enlarge it (docker run --shm-size=8g)",
            tier, size);
    }
    request->no_tier = true;
    say("%s has only %s, which the job needs itself: running uncached; name a local disk with "
        "--tier "
        "DIR or TMPDIR, or enlarge it (docker run --shm-size=8g)",
        tier, size);
}

/* ---- flags ---- */

/* Where parsing stands. */
struct cursor {
    char **at;
    char *tiers;       /* the flags, as a list; NULL: there is none */
    const char *share; /* the flag; NULL: there is none */
};

/* If the argument is this flag, its value: "--flag VALUE" or "--flag=VALUE"; else NULL. */
static const char *take_value(struct cursor *cursor, const char *flag)
{
    const char *argument = *cursor->at;
    size_t length = strlen(flag);
    if (strncmp(argument, flag, length) != 0) {
        return NULL;
    }
    if (argument[length] == '=') {
        return argument + length + 1;
    }
    if (argument[length] != '\0') {
        return NULL;
    }
    if (cursor->at[1] == NULL || strcmp(cursor->at[1], "--") == 0) {
        die_wrong("%s needs a value", flag);
    }
    return *++cursor->at;
}

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

static void settle_samples(struct request *request)
{
    const char *value = getenv(stk_option_table[STK_OPTION_SAMPLES].variable);
    if (request->samples == NULL && value != NULL && *value != '\0') {
        request->samples_kind = SAMPLES_AS_SET;
    }
    if (!python_keeps_samples()) {
        refuse_samples(request, request->samples != NULL ? request->samples : value);
    }
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
    char *before = cursor->tiers;
    cursor->tiers = before != NULL ? must_format("%s,%s", before, value) : must_copy(value);
    free(before);
}

/* What concerns the cache, whoever fills it. */
static bool take_cache_flag(struct request *request, struct cursor *cursor)
{
    const char *value;
    if ((value = take_value(cursor, "--path")) != NULL) {
        paths_add(request, "--path ", value);
    } else if ((value = take_value(cursor, "--tier")) != NULL) {
        add_tier_flag(cursor, value);
    } else if ((value = take_value(cursor, "--share")) != NULL) {
        if (request->warm_only && is_part(value)) {
            take_share(request, value);
        } else {
            cursor->share = value;
        }
    } else if ((value = take_value(cursor, "--fresh")) != NULL) {
        take_fresh(request, value);
    } else if ((value = take_value(cursor, "--jobs")) != NULL) {
        take_jobs(request, value);
    } else if (strcmp(*cursor->at, "--keep") == 0) {
        request->keep = true;
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
    if ((value = take_value(cursor, "--json")) != NULL) {
        request->json = value;
    } else if ((value = take_value(cursor, "--samples")) != NULL) {
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

static void settle_python(struct request *request)
{
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

static void settle_paths(struct request *request)
{
    if (request->count == 0) {
        add_paths_of_environment(request);
    }
    if (request->count == 0 && request->command != NULL) {
        paths_detect(request);
    }
    if (request->count == 0) {
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
    settle_python(request);
    settle_samples(request);
    settle_tiers(request, cursor.tiers);
    free(cursor.tiers);
    settle_paths(request);
    settle_small(request);
    check_tier_places(request);
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
    } else if ((value = take_value(cursor, "--samples")) != NULL) {
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
        if (paths_is_below(canonical, request->canonical[i]) ||
            strcmp(canonical, request->canonical[i]) == 0) {
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
    if (request->count == 0) {
        add_paths_of_environment(request);
    }
    bool parts = request->count > 0 && count > 0;
    for (unsigned i = 0; !parts && i < count; i++) {
        paths_add(request, "", paths[i]);
    }
    if (request->count == 0) {
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
    settle_forms(request);
    settle_tiers(request, cursor.tiers);
    free(cursor.tiers);
    settle_parts(request, arguments, count);
    settle_small(request);
    check_tier_places(request);
    group_settle(request, cursor.share);
}

/* ---- as variables ---- */

static void append_path(char **list, const char *path)
{
    char *escaped = must_allocate(2 * strlen(path) + 1), *to = escaped;
    for (const char *from = path; *from != '\0'; from++) {
        if (*from == ':' || *from == '\\') {
            *to++ = '\\';
        }
        *to++ = *from;
    }
    *list = must_append(*list, "%s%s", **list != '\0' ? ":" : "", escaped);
    free(escaped);
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

char *request_tiers(const struct request *request)
{
    char *list = must_copy("");
    for (unsigned i = 0; i < request->tier_count; i++) {
        const struct request_tier *tier = &request->tiers[i];
        list = must_append(list, "%s%s", i > 0 ? "," : "", tier->directory);
        if (tier->budget_bytes >= 0) {
            list = must_append(list, ":%lld", (long long)tier->budget_bytes);
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

void request_export(const struct request *request, const char *run)
{
    char *paths = request_paths(request), *tiers = request_tiers(request);
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
