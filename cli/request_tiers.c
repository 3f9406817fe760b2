/* Where a request has its cache lie. See cli/request_tiers.h. */
#include "cli/request_tiers.h"

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
#include "cli/paths.h"
#include "cli/say.h"
#include "cli/shared.h"

/* ---- beside what is covered ---- */

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
    paths_cut_slashes(directory);
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

void request_settle_tiers(struct request *request, const char *given)
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
                access(canonical, W_OK) == 0 && stk_home_check_parent(canonical, NULL) == 0;
    for (unsigned i = 0; good && i < request->count; i++) {
        good = !paths_is_below(canonical, request->canonical[i]);
    }
    if (!good) {
        free(canonical);
        canonical = NULL;
    }
    return canonical;
}

void request_settle_small(struct request *request)
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
                "place with --tier DIR",
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
        "--tier DIR or TMPDIR, or enlarge it (docker run --shm-size=8g)",
        tier, size);
}
