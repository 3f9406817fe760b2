/* Covered paths. See cli/paths.h. */
#include "cli/paths.h"

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
#include "cli/refusal.h"
#include "cli/say.h"

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

bool paths_is_below(const char *path, const char *above)
{
    return strcmp(above, "/") == 0 || stk_path_below(path, above) != NULL;
}

void paths_cut_slashes(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
}

/* The path made absolute as the user spells it, "//" and "/./" folded; NULL for one with "..",
 * whose meaning only the kernel knows. The caller frees. */
static char *spell(const char *path)
{
    char folded[PATH_MAX], *cwd = NULL, *joined;
    if (path[0] == '/') {
        joined = must_copy(path);
    } else {
        cwd = getcwd(NULL, 0);
        joined = must_format("%s/%s", cwd != NULL ? cwd : "", path);
    }
    paths_cut_slashes(joined);
    bool folds = stk_path_fold(joined, folded, sizeof folded) > 0;
    free(cwd);
    free(joined);
    return folds ? must_format("/%s", folded) : NULL;
}

/* Finds out where a path leads, and what lies there: 0, or -errno. *canonical is the caller's to
 * free. */
static int resolve(const char *path, char **canonical, struct stat *stat_)
{
    *canonical = realpath(path, NULL);
    if (*canonical == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    return stat(*canonical, stat_) == 0 ? 0 : -errno;
}

/* What kind of file system; it may be a server's, so each path is asked once. */
static struct statfs ask(const char *canonical)
{
    struct statfs fs;
    return statfs(canonical, &fs) == 0 ? fs : (struct statfs){.f_type = 0};
}

static bool is_pseudo(const struct statfs *fs, const char *canonical)
{
    return fs->f_type == PROC_SUPER_MAGIC || fs->f_type == SYSFS_MAGIC ||
           fs->f_type == DEVPTS_SUPER_MAGIC ||
           (fs->f_type != 0 && paths_is_below("/dev", canonical));
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

static void keep(struct request *request, const char *path, char *canonical,
                 const struct statfs *fs)
{
    request->at_hand[request->count] = stk_local_is(fs) && !stk_local_is_memory(fs);
    char *spelled = spell(path);
    request->spelled[request->count] = spelled != NULL ? spelled : must_copy(canonical);
    request->canonical[request->count++] = canonical;
}

/* Remembers a path that this node cannot look at, with the reason. */
static void put_away(struct request *request, const char *flag, const char *path, int error)
{
    if (request->away_count < STK_REQUEST_PATHS) {
        request->away[request->away_count++] =
            must_format("%s%s: %s", flag, path, strerror(-error));
    }
}

void paths_add(struct request *request, const char *flag, const char *path)
{
    struct stat stat_;
    char *canonical;
    int error = resolve(path, &canonical, &stat_);
    if (*path == '\0' || (error != 0 && refusal_class_of(error) == REFUSAL_TYPED)) {
        die("%s%s: %s: name a directory or file that is there", flag, path,
            *path == '\0' ? "empty" : strerror(-error));
    }
    if (error != 0) {
        free(canonical);
        put_away(request, flag, path, error);
        return;
    }
    if (strcmp(canonical, "/") == 0) {
        die("%s%s: the whole file system cannot be covered: name the data set's directory", flag,
            path);
    }
    const struct statfs fs = ask(canonical);
    if (is_pseudo(&fs, canonical)) {
        die("%s%s: a file system of the kernel's holds no data set: name the data set's "
            "directory",
            flag, path);
    }
    if (!S_ISDIR(stat_.st_mode) && !S_ISREG(stat_.st_mode)) {
        die("%s%s: neither a directory nor a regular file: name one", flag, path);
    }
    if (is_known(request, canonical)) {
        free(canonical);
        return;
    }
    if (request->count == STK_REQUEST_PATHS) {
        die("%s%s: more than %d paths: name a directory above them", flag, path, STK_REQUEST_PATHS);
    }
    keep(request, path, canonical, &fs);
}

/* ---- detection ---- */

/* Whether this argument is a regular file in (or below) the directory. */
static bool is_file_below(const char *argument, const char *canonical, bool *is_file)
{
    struct stat stat_;
    char *file = realpath(argument, NULL);
    *is_file = file != NULL && stat(file, &stat_) == 0 && S_ISREG(stat_.st_mode);
    bool below = *is_file && paths_is_below(file, canonical);
    free(file);
    return below;
}

/* Whether the program lies in this directory: then the directory is the user's code, not the data.
 * The program is the command itself, and the first file among its arguments (the script). */
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

/* Whether `canonical` is, or lies above, a directory that is never a data set. */
static bool is_too_high(const char *canonical)
{
    char *cwd = getcwd(NULL, 0);
    const char *home = getenv("HOME");
    char *home_path = home != NULL && *home != '\0' ? realpath(home, NULL) : NULL;
    bool high = (cwd != NULL && paths_is_below(cwd, canonical)) ||
                (home_path != NULL && paths_is_below(home_path, canonical)) ||
                strcmp(canonical, "/tmp") == 0 || strcmp(canonical, "/usr") == 0;
    free(cwd);
    free(home_path);
    return high;
}

static bool holds_tier(const struct request *request, const char *canonical)
{
    bool holds = false;
    for (unsigned i = 0; i < request->tier_count && !holds; i++) {
        holds = paths_is_below(request->tiers[i].directory, canonical);
    }
    return holds;
}

/* Remembers an argument that this node cannot look at: it may be the data set. Most arguments are
 * no path at all, and have an error of the other class. One argument is enough for one line. */
static void miss(struct request *request, const char *candidate, int error)
{
    if (refusal_class_of(error) == REFUSAL_NODE && request->away_count == 0) {
        put_away(request, "", candidate, error);
    }
}

static void detect_one(struct request *request, const char *candidate)
{
    struct stat stat_;
    char *canonical;
    int error = resolve(candidate, &canonical, &stat_);
    if (error != 0) {
        free(canonical);
        miss(request, candidate, error);
        return;
    }
    const struct statfs fs = ask(canonical);
    bool good = S_ISDIR(stat_.st_mode) && !is_too_high(canonical) && !is_pseudo(&fs, canonical) &&
                !holds_program(request, canonical) && !holds_tier(request, canonical) &&
                !is_known(request, canonical) && request->count < STK_REQUEST_PATHS;
    if (good) {
        keep(request, candidate, canonical, &fs);
        request->detected = true;
    } else {
        free(canonical);
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
