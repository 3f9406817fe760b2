#include "cli/run/uncovered.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/sys.h"
#include "cache/catalogue/home.h"
#include "cli/args/covered_paths.h"
#include "cli/os/descriptors.h"
#include "cli/out/say.h"

#define OFTEN_NS   (10 * STK_NS_PER_S) /* looks are frequent so long, then rarer */
#define SELDOM     10
#define MOST_TASKS 4096 /* whose children are looked up */
#define BASH_FD    255  /* by which bash reads its script */

static struct uncovered seen;
static pid_t own; /* a process of the command, which has many threads */

/* ---- what is no data ---- */

/* Returns true for files of the system, of an installation of Python, or of a program. */
static bool is_code(const char *path)
{
    static const char *const tops[] = {"/usr/", "/lib",        "/bin/",    "/sbin/",
                                       "/etc/", "/proc/",      "/sys/",    "/dev/",
                                       "/run/", "/var/cache/", "/var/lib/"};
    static const char *const parts[] = {"/lib/python", "/site-packages/", "/dist-packages/",
                                        "/.git/",      "/__pycache__/",   ".so."};
    static const char *const ends[] = {".py",       ".pyc", ".so",       ".sh",
                                       "/site.zip", ".log", " (deleted)"};
    bool code = path[0] != '/';
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        code = code || strncmp(path, tops[i], strlen(tops[i])) == 0;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        code = code || strstr(path, parts[i]) != NULL;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        code = code || stk_path_has_end(path, ends[i]);
    }
    return code;
}

/* ---- the places ---- */

/* Cuts `one` to the directory that contains both. Returns false if that cannot be a data set's
 * directory. */
static bool cut_to_common(char *one, const char *other)
{
    size_t same = 0, end = 0;
    unsigned depth = 0;
    while (one[same] != '\0' && one[same] == other[same]) {
        same++;
        if ((one[same] == '/' || one[same] == '\0') &&
            (other[same] == '/' || other[same] == '\0')) {
            end = same;
            depth++;
        }
    }
    const char *home = getenv("HOME");
    bool whole = home != NULL && strlen(home) == end && strncmp(one, home, end) == 0;
    if (depth < 2 || whole) {
        return false;
    }
    one[end] = '\0';
    return true;
}

static void sort_places(void)
{
    for (unsigned i = seen.count; i-- > 1 && seen.places[i].files > seen.places[i - 1].files;) {
        char *directory = seen.places[i].directory;
        uint64_t files = seen.places[i].files;
        seen.places[i] = seen.places[i - 1];
        seen.places[i - 1].directory = directory;
        seen.places[i - 1].files = files;
    }
}

/* Adds a directory. Directories of image classes lie beside each other: those that share the
 * directory above are one place. */
static void add_place(char *directory)
{
    for (unsigned i = 0; i < seen.count; i++) {
        char *known = seen.places[i].directory;
        if (stk_path_is_below(directory, known) || cut_to_common(known, directory)) {
            seen.places[i].files++;
            return;
        }
    }
    if (seen.count < UNCOVERED_MOST) {
        seen.places[seen.count].files = 1;
        seen.places[seen.count++].directory = must_copy(directory);
    }
}

static bool is_home_in(const char *tier, const char *path)
{
    size_t length = strlen(tier);
    return strncmp(path, tier, length) == 0 &&
           strncmp(path + length, STK_HOME_STEM, sizeof STK_HOME_STEM - 1) == 0;
}

static bool is_cache(const struct request *request, const char *path)
{
    bool is = false;
    for (unsigned i = 0; i < request->tier_count && !is; i++) {
        is = is_home_in(request->tiers[i].directory, path);
    }
    return is;
}

static void add_file(const struct request *request, char *path)
{
    if (paths_cover(request, path)) {
        seen.below++;
        return;
    }
    char *leaf = strrchr(path, '/');
    if (is_code(path) || is_cache(request, path) || leaf == path) {
        return;
    }
    *leaf = '\0';
    add_place(path);
    sort_places();
}

/* ---- looking ---- */

/* Returns true for a regular file that is open for reading only. Asks no server. */
static bool is_read_file(int directory, const char *number)
{
    struct stat link;
    struct statx file;
    STK_OWNED_FD int fd = openat(directory, number, O_PATH | O_CLOEXEC);
    return fd >= 0 && fstatat(directory, number, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
           (link.st_mode & 0600) == 0400 &&
           stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &file) == 0 &&
           S_ISREG(file.stx_mode);
}

static void look_at_process(const struct request *request, long pid)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    OWNED_DIR DIR *numbers = opendir(path);
    struct dirent *entry;
    while (numbers != NULL && (entry = readdir(numbers)) != NULL) {
        ssize_t length = entry->d_name[0] == '.'
                             ? -1
                             : readlinkat(dirfd(numbers), entry->d_name, path, sizeof path - 1);
        long fd = atol(entry->d_name);
        if (length > 0 && path[0] == '/' && fd > STDERR_FILENO && fd != BASH_FD) {
            path[length] = '\0';
            if (is_read_file(dirfd(numbers), entry->d_name)) {
                add_file(request, path);
            }
        }
    }
}

static void look_below(const struct request *request, long pid, unsigned *tasks);

static void look_at_children(const struct request *request, const char *path, unsigned *tasks)
{
    long child;
    OWNED_FILE FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%ld", &child) == 1) {
        if (child != own) {
            look_at_process(request, child);
            look_below(request, child, tasks);
        }
    }
}

/* Looks at all processes that this one, or a thread of it, has started. */
static void look_below(const struct request *request, long pid, unsigned *tasks)
{
    char path[400];
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    OWNED_DIR DIR *threads = opendir(path);
    struct dirent *entry;
    while (threads != NULL && *tasks < MOST_TASKS && (entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "/proc/%ld/task/%s/children", pid, entry->d_name);
            ++*tasks;
            look_at_children(request, path, tasks);
        }
    }
}

void uncovered_pass_over(pid_t process)
{
    own = process;
}

void uncovered_look(const struct request *request, bool served, int64_t since_ns)
{
    static unsigned turn;
    unsigned tasks = 0;
    if (!served && (since_ns < OFTEN_NS || turn++ % SELDOM == 0)) {
        look_below(request, getpid(), &tasks);
    }
}

const struct uncovered *uncovered_read(void)
{
    return &seen;
}

/* ---- other names ---- */

static bool is_covered_name(const struct request *request, const char *absolute)
{
    bool covered = paths_cover(request, absolute);
    for (unsigned i = 0; i < request->count && !covered; i++) {
        covered = stk_path_is_below(absolute, request->spelled[i]);
    }
    return covered;
}

static bool leads_to_covered(const struct request *request, const char *name)
{
    OWNED char *canonical = realpath(name, NULL);
    return canonical != NULL && paths_cover(request, canonical);
}

/* Returns the argument as an absolute path, if it leads to a covered file by a name that is not
 * covered. Asks the origin nothing about covered names. */
static char *as_other_name(const struct request *request, const char *argument)
{
    OWNED char *cwd = getcwd(NULL, 0);
    char *absolute = argument[0] == '/' ? must_copy(argument)
                                        : must_format("%s/%s", cwd != NULL ? cwd : "", argument);
    bool other = *argument != '\0' && !is_covered_name(request, absolute) &&
                 leads_to_covered(request, absolute);
    if (!other) {
        free(absolute);
        absolute = NULL;
    }
    return absolute;
}

/* Cuts the name of a file below a covered root to the name of the root. */
static void cut_to_root(const struct request *request, char *name)
{
    char *slash = NULL;
    bool above = true;
    while (above && (slash = strrchr(name, '/')) != NULL && slash != name) {
        *slash = '\0';
        above = leads_to_covered(request, name);
        *slash = above ? '\0' : '/';
    }
}

char *uncovered_other_name(const struct request *request)
{
    char *found = NULL;
    for (char **argument = request->command + 1; found == NULL && *argument != NULL; argument++) {
        const char *equals = strchr(*argument, '=');
        found = as_other_name(request, *argument);
        if (found == NULL && equals != NULL) {
            found = as_other_name(request, equals + 1);
        }
    }
    if (found != NULL) {
        cut_to_root(request, found);
    }
    return found;
}
