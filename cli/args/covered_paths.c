#include "cli/args/covered_paths.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "base/path.h"
#include "cli/args/path_question.h"
#include "cli/args/refusal.h"
#include "cli/out/say.h"

char *paths_quote(const char *path)
{
    char *quoted = must_allocate(2 * strlen(path) + 1), *to = quoted;
    for (; *path != '\0'; path++) {
        if (*path == ':' || *path == '\\') {
            *to++ = '\\';
        }
        *to++ = *path;
    }
    return quoted;
}

void paths_cut_slashes(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
}

/* Returns the path made absolute as the user spells it, with "//" and "/./" folded. Returns NULL
 * for a path with "..", whose meaning only the kernel knows. The caller frees. */
static char *spell(const char *path)
{
    char folded[PATH_MAX];
    OWNED char *cwd = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    OWNED char *joined =
        path[0] == '/' ? must_copy(path) : must_format("%s/%s", cwd != NULL ? cwd : "", path);
    paths_cut_slashes(joined);
    bool folds = stk_path_fold(joined, folded, sizeof folded) > 0;
    return folds ? must_format("/%s", folded) : NULL;
}

static bool is_pseudo(const struct statfs *fs, const char *canonical)
{
    return fs->f_type == PROC_SUPER_MAGIC || fs->f_type == SYSFS_MAGIC ||
           fs->f_type == DEVPTS_SUPER_MAGIC ||
           (fs->f_type != 0 && stk_path_is_below("/dev", canonical));
}

static bool is_known(const struct request *request, const char *canonical)
{
    for (unsigned i = 0; i < request->count; i++) {
        if (strcmp(request->canonical[i], canonical) == 0) {
            return true;
        }
    }
    return false;
}

bool paths_cover(const struct request *request, const char *canonical)
{
    bool covers = false;
    for (unsigned i = 0; i < request->count && !covers; i++) {
        covers = stk_path_is_below(canonical, request->canonical[i]);
    }
    return covers;
}

static void keep(struct request *request, const char *path, const struct path_answer *answer)
{
    char *canonical = must_copy(answer->canonical), *spelled = spell(path);
    request->at_hand[request->count] =
        stk_local_is(&answer->fs) && !stk_local_is_memory(&answer->fs);
    request->spelled[request->count] = spelled != NULL ? spelled : must_copy(canonical);
    request->canonical[request->count++] = canonical;
}

/* Remembers a path that this node cannot look at, with the reason. */
static void put_away(struct request *request, const char *flag, const char *path, int error)
{
    if (request->away_count < STK_REQUEST_PATHS) {
        request->away[request->away_count++] = must_format(
            "%s%s: %s", flag, path, error == -ETIMEDOUT ? "does not answer" : strerror(-error));
    }
}

/* Ends if no node can cover this path. */
static void check(const char *flag, const char *path, const struct path_answer *answer)
{
    if (strcmp(answer->canonical, "/") == 0) {
        die("%s%s: the whole file system cannot be cached: name the data set's directory", flag,
            path);
    }
    if (is_pseudo(&answer->fs, answer->canonical)) {
        die("%s%s: a file system of the kernel's holds no data set: name the data set's "
            "directory",
            flag, path);
    }
    if (!S_ISDIR(answer->stat.st_mode) && !S_ISREG(answer->stat.st_mode)) {
        die("%s%s: neither a directory nor a regular file: name one", flag, path);
    }
}

void paths_add(struct request *request, const char *flag, const char *path)
{
    static struct path_answer answer;
    path_ask(path, &answer);
    if (*path == '\0' || (answer.error != 0 && refusal_class_of(answer.error) == REFUSAL_TYPED)) {
        die("%s%s: %s: name a directory or file that is there", flag, path,
            *path == '\0' ? "empty" : strerror(-answer.error));
    }
    if (answer.error != 0) {
        put_away(request, flag, path, answer.error);
        return;
    }
    check(flag, path, &answer);
    if (is_known(request, answer.canonical)) {
        return;
    }
    if (request->count == STK_REQUEST_PATHS) {
        die("%s%s: more than %d paths: name a directory above them", flag, path, STK_REQUEST_PATHS);
    }
    keep(request, path, &answer);
}

/* ---- detection ---- */

/* Returns true if this argument is a regular file in (or below) the directory. */
static bool is_file_below(const char *argument, const char *canonical, bool *is_file)
{
    static struct path_answer answer;
    path_ask(argument, &answer);
    *is_file = answer.error == 0 && S_ISREG(answer.stat.st_mode);
    return *is_file && stk_path_is_below(answer.canonical, canonical);
}

/* Returns true if the program lies in this directory: then the directory has the user's code, not
 * the data. The program is the command itself, or the first file among its arguments (the
 * script). */
static bool holds_program(const struct request *request, const char *canonical)
{
    bool is_file = false;
    if (strchr(request->command[0], '/') != NULL &&
        is_file_below(request->command[0], canonical, &is_file)) {
        return true;
    }
    is_file = false;
    for (char **argument = request->command + 1; *argument != NULL && !is_file; argument++) {
        if (is_file_below(*argument, canonical, &is_file)) {
            return true;
        }
    }
    return false;
}

/* Returns true if `canonical` is, or contains, a directory that is never a data set. */
static bool is_too_high(const char *canonical)
{
    OWNED char *cwd = getcwd(NULL, 0);
    const char *home = getenv("HOME");
    OWNED char *home_path = home != NULL && *home != '\0' ? realpath(home, NULL) : NULL;
    return (cwd != NULL && stk_path_is_below(cwd, canonical)) ||
           (home_path != NULL && stk_path_is_below(home_path, canonical)) ||
           strcmp(canonical, "/tmp") == 0 || strcmp(canonical, "/usr") == 0;
}

static bool holds_tier(const struct request *request, const char *canonical)
{
    bool holds = false;
    for (unsigned i = 0; i < request->tier_count && !holds; i++) {
        holds = stk_path_is_below(request->tiers[i].directory, canonical);
    }
    return holds;
}

/* Remembers an argument that this node cannot look at: it may be the data set. Most arguments are
 * not paths at all, and have an error of the other class. One argument is enough for one line. */
static void miss(struct request *request, const char *candidate, int error)
{
    if (refusal_class_of(error) == REFUSAL_NODE && request->away_count == 0) {
        put_away(request, "", candidate, error);
    }
}

static void detect_one(struct request *request, const char *candidate)
{
    static struct path_answer answer;
    const char *canonical = answer.canonical;
    path_ask(candidate, &answer);
    if (answer.error != 0) {
        miss(request, candidate, answer.error);
        return;
    }
    bool good = S_ISDIR(answer.stat.st_mode) && !is_too_high(canonical) &&
                !is_pseudo(&answer.fs, canonical) && !holds_program(request, canonical) &&
                !holds_tier(request, canonical) && !is_known(request, canonical) &&
                request->count < STK_REQUEST_PATHS;
    if (good) {
        keep(request, candidate, &answer);
        request->detected = true;
    }
}

void paths_detect(struct request *request)
{
    for (char **argument = request->command + 1; *argument != NULL; argument++) {
        const char *equals = strchr(*argument, '=');
        if (**argument != '-' && **argument != '\0') {
            detect_one(request, *argument);
        }
        if (equals != NULL && equals[1] != '\0') {
            detect_one(request, equals + 1);
        }
    }
}
