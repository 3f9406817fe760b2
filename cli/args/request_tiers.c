#include "cli/args/request_tiers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "base/options.h"
#include "base/path.h"
#include "base/text.h"
#include "cache/tier/tier.h"
#include "cli/args/covered_paths.h"
#include "cli/args/refusal.h"
#include "cli/out/say.h"
#include "cli/tiers/shared_tier.h"

#define SHARED "shared:"

/* ---- beside what is covered ---- */

static bool is_in_home(const char *path, const char *tier)
{
    OWNED char *home = must_format("%s/stoker-", tier);
    return strncmp(path, home, strlen(home)) == 0;
}

static void check_tier_place(const struct request *request, const char *tier)
{
    for (unsigned i = 0; i < request->count; i++) {
        if (stk_path_is_below(tier, request->canonical[i])) {
            die("--tier %s lies inside --path %s: name a directory outside of it", tier,
                request->canonical[i]);
        }
        if (is_in_home(request->canonical[i], tier)) {
            die("--path %s lies inside the tier %s: name the original files, not the cache",
                request->canonical[i], tier);
        }
    }
}

void request_check_tier_places(const struct request *request)
{
    for (unsigned i = 0; i < request->tier_count; i++) {
        check_tier_place(request, request->tiers[i].directory);
    }
    if (request->shared.directory[0] != '\0') {
        check_tier_place(request, request->shared.directory);
    }
}

/* ---- which there are ---- */

/* Returns the error of a tier's directory, or ends if the user typed it wrong. */
static int fail_tier(const struct request_tier *tier, int error)
{
    if (tier->named && refusal_class_of(error) == REFUSAL_TYPED) {
        die("--tier %s: %s: name a directory that is there", tier->directory, strerror(-error));
    }
    return error;
}

/* Checks a tier's directory before anything is made in it. Returns 0, or -errno if this node cannot
 * look at it. Ends if the user typed it wrong. */
static int check_tier_directory(const struct request_tier *tier)
{
    const char *directory = tier->directory;
    struct stat stat_;
    if (lstat(directory, &stat_) != 0) {
        return fail_tier(tier, -errno);
    }
    bool is_link = S_ISLNK(stat_.st_mode), is_directory = S_ISDIR(stat_.st_mode);
    if (is_link && tier->named) {
        char *target = realpath(directory, NULL);
        die("--tier %s is a symbolic link: name the directory itself%s%s", directory,
            target != NULL ? ", " : "", target != NULL ? target : "");
    }
    if (!is_link && !is_directory && tier->named) {
        die("--tier %s is not a directory: name one", directory);
    }
    return is_directory ? 0 : is_link ? -ELOOP : -ENOTDIR;
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
    paths_cut_slashes(directory);
    tier->error = check_tier_directory(tier);
    OWNED char *canonical = tier->error == 0 ? realpath(directory, NULL) : NULL;
    if (canonical == NULL) {
        tier->error = tier->error == 0 ? fail_tier(tier, -errno) : tier->error;
        return;
    }
    if (!stk_text_copy(directory, sizeof tier->directory, canonical)) {
        die("--tier %s: too long: name a directory with a shorter path", canonical);
    }
    if (strpbrk(directory, ",:") != NULL) {
        die("--tier %s: a comma or a colon is no part of a tier's path: name another", directory);
    }
}

/* Ends if the tier is the same as another one, or if one of them lies in the other. */
static void check_apart(const struct request_tier *tier, const struct request_tier *before)
{
    if (strcmp(tier->directory, before->directory) == 0) {
        die("--tier %s is named twice: name it once, with all of its budget", tier->directory);
    }
    if (is_in_home(tier->directory, before->directory) ||
        is_in_home(before->directory, tier->directory)) {
        die("--tier %s and %s: one lies in what the other keeps: name another", before->directory,
            tier->directory);
    }
}

static void take_shared(struct request *request, const struct request_tier *tier,
                        const char *canonical, bool by_group)
{
    if (request->shared.directory[0] != '\0') {
        refusal_report(request, REFUSAL_PART, "--tier %s is shared, as %s is: %sname one of them",
                       tier->directory, request->shared.directory,
                       refusal_goes_on(request, REFUSAL_PART));
        return;
    }
    request->shared.budget_bytes = tier->budget_bytes;
    request->shared_by_group = by_group;
    strcpy(request->shared.directory, canonical);
}

/* Returns true if several nodes or a group share the tier: then this process asks nothing of it. A
 * directory whose server does not answer, or fails, is no disk of this node. So it is shared, too,
 * under the name that was given; but not by a group, which its mode says. */
static bool is_shared(struct request *request, struct request_tier *tier)
{
    char canonical[STK_HOME_BYTES] = "";
    int error = 0;
    bool usual = strcmp(tier->directory, stk_option_table[STK_OPTION_TIERS].otherwise) == 0;
    enum shared_tier_kind kind =
        usual ? SHARED_TIER_LOCAL
              : shared_tier_find(tier->directory, request->share_gid, canonical, &error);
    bool unmounted = kind == SHARED_TIER_LOCAL && tier->must_share && canonical[0] != '\0';
    bool late = kind == SHARED_TIER_LATE;
    bool waits = late && tier->directory[0] == '/' && request->share_gid == 0 &&
                 request->shared.directory[0] == '\0';
    tier->error = late && !waits ? error : unmounted ? -ENXIO : 0;
    bool shared = kind == SHARED_TIER_YES || kind == SHARED_TIER_OF_GROUP || waits;
    if (waits) {
        paths_cut_slashes(tier->directory);
        strcpy(canonical, tier->directory);
        request->shared_error = error;
    }
    if (shared) {
        take_shared(request, tier, canonical, kind == SHARED_TIER_OF_GROUP);
    }
    return shared;
}

/* Returns true if the tier is to stay in the request. */
static bool settle_tier(struct request *request, struct request_tier *tier)
{
    if (is_shared(request, tier)) {
        return false;
    }
    if (tier->error == 0) {
        find_tier(tier);
    }
    for (const struct request_tier *before = request->tiers; before < tier; before++) {
        if (tier->error == 0 && before->error == 0) {
            check_apart(tier, before);
        }
    }
    return true;
}

/* Takes "shared:" in front of a path. A directory "shared" has no such path as its size. */
static bool take_prefix(const char **list)
{
    bool is = strncmp(*list, SHARED "/", sizeof SHARED) == 0;
    *list += is ? sizeof SHARED - 1 : 0;
    return is;
}

/* Adds the first tier of a list, and takes it off the list. */
static void add_tier(struct request *request, const char **list, bool named)
{
    if (named && request->tier_count == STK_TIERS) {
        die("--tier %s is one too many: name at most %d", *list, STK_TIERS);
    }
    struct request_tier *tier = &request->tiers[request->tier_count];
    *tier = (struct request_tier){.named = named, .must_share = take_prefix(list)};
    parse_tier(tier, list);
    request->tier_count += settle_tier(request, tier);
}

char *request_tiers(const struct request *request)
{
    char *list = must_copy("");
    for (unsigned i = 0; i < request->tier_count; i++) {
        const struct request_tier *tier = &request->tiers[i];
        if (tier->error != 0 || tier->left_out) {
            continue;
        }
        list = must_append(list, "%s%s", *list != '\0' ? "," : "", tier->directory);
        if (tier->budget_bytes >= 0) {
            list = must_append(list, ":%lld", (long long)tier->budget_bytes);
        }
    }
    return list;
}

/* Returns true if the default tier is wanted: no named tier is a local one that can be used. Files
 * of a shared tier are copied into a local one. A named tier that the user may not write to was
 * meant to be local: memory does not replace it. */
static bool wants_default(const struct request *request)
{
    bool wants = true;
    for (unsigned i = 0; i < request->tier_count; i++) {
        int error = request->tiers[i].error;
        wants = wants && error != 0 && error != -EACCES;
    }
    return wants;
}

void request_settle_tiers(struct request *request, const char *given)
{
    const char *value = given != NULL ? given : stk_option_value(STK_OPTION_TIERS);
    for (bool more = value != NULL; more; more = *value != '\0') {
        add_tier(request, &value, true);
    }
    if (wants_default(request)) {
        value = stk_option_table[STK_OPTION_TIERS].otherwise;
        add_tier(request, &value, false);
    }
    OWNED char *tiers = request_tiers(request);
    if (strlen(tiers) >= STK_TIERS_BYTES) {
        die("--tier: all together are too long: name directories with shorter paths");
    }
}

/* ---- where shared memory is small ---- */

/* Docker gives 64 MiB, which the workers of a DataLoader fill by themselves. */
#define SMALL_BYTES (INT64_C(256) << 20)

static bool is_small(const char *directory, int64_t *bytes)
{
    struct statfs fs;
    bool tmpfs = statfs(directory, &fs) == 0 && stk_local_is_memory(&fs);
    *bytes = tmpfs ? (int64_t)fs.f_blocks * fs.f_bsize : 0;
    return tmpfs && *bytes < SMALL_BYTES;
}

/* Returns the directory that the variable names, if it is on a local disk, can be a tier and lies
 * outside of covered paths; else NULL. The caller frees. */
static char *disk_of(const struct request *request, const char *variable)
{
    struct statfs fs;
    const char *value = getenv(variable);
    char *canonical = value != NULL && value[0] == '/' ? realpath(value, NULL) : NULL;
    bool good = canonical != NULL && strlen(canonical) < STK_HOME_BYTES &&
                statfs(canonical, &fs) == 0 && stk_local_is(&fs) && !stk_local_is_memory(&fs) &&
                access(canonical, W_OK) == 0 && stk_home_check_parent(canonical, NULL) == 0;
    if (!good || paths_cover(request, canonical)) {
        free(canonical);
        canonical = NULL;
    }
    return canonical;
}

/* Explains why the cache is not to lie in the default tier. Returns NULL if it may. The caller
 * frees. */
static char *why_not_there(const struct request_tier *tier)
{
    char size[STK_SIZE_TEXT];
    int64_t bytes;
    if (tier->error != 0) {
        return must_format("%s: %s", tier->directory, strerror(-tier->error));
    }
    return is_small(tier->directory, &bytes)
               ? must_format("%s has only %s, which the job needs itself", tier->directory,
                             size_text(size, (uint64_t)bytes))
               : NULL;
}

/* Puts the cache on a disk that the environment names, and says so. Returns false if there is
 * none. */
static bool take_disk(const struct request *request, struct request_tier *tier, const char *why)
{
    static const char *const variables[] = {"SLURM_TMPDIR", "TMPDIR"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        OWNED char *disk = disk_of(request, variables[i]);
        if (disk != NULL) {
            say("%s: caching in %s (%s); name another place with --tier DIR", why, disk,
                variables[i]);
            strcpy(tier->directory, disk);
            tier->error = 0;
            return true;
        }
    }
    return false;
}

void request_settle_small(struct request *request)
{
    struct request_tier *tier = &request->tiers[request->tier_count - 1];
    OWNED char *why = tier->named ? NULL : why_not_there(tier);
    if (why != NULL && !take_disk(request, tier, why)) {
        refusal_pass_over_unusable(request);
        refusal_report(
            request, REFUSAL_ALL,
            "%s: %sname a local disk with --tier DIR or TMPDIR, or enlarge it (docker run "
            "--shm-size=8g)",
            why, refusal_goes_on(request, REFUSAL_ALL));
        request->no_tier = true;
    }
}
