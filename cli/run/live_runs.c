#include "cli/run/live_runs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/proc.h"
#include "cache/catalogue/home.h"
#include "cache/run/run.h"
#include "cli/os/descriptors.h"
#include "cli/os/home_lock.h"
#include "cli/out/say.h"

void live_each_file(const char *home, void (*visit)(const char *path, void *context), void *context)
{
    char path[STK_HOME_BYTES + 300];
    snprintf(path, sizeof path, "%s/runs", home);
    OWNED_DIR DIR *runs = opendir(path);
    struct dirent *entry;
    while (runs != NULL && (entry = readdir(runs)) != NULL) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, STK_RUN_OUTSIDE) != 0) {
            snprintf(path, sizeof path, "%s/runs/%s", home, entry->d_name);
            visit(path, context);
        }
    }
}

enum { ENVIRONMENT_ENDS = 51 }; /* a field of /proc/PID/stat, counted from 1 */

/* Returns true if the process is in the middle of an exec. It has a program by then, but its
 * environment still reads as empty: the kernel has not laid it out yet. Kernel threads and zombies
 * have no program. */
static bool is_in_exec(const char *pid)
{
    char path[64], text[1024], program[8];
    snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    if (readlink(path, program, sizeof program) <= 0) {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    if (stk_proc_read_text(path, text, sizeof text) <= 0) {
        return false;
    }
    const char *field = strrchr(text, ')'); /* the end of field 2: a name may hold spaces */
    for (unsigned number = 2; field != NULL && number < ENVIRONMENT_ENDS; number++) {
        field = strchr(field + 1, ' ');
    }
    return field != NULL && strtoull(field, NULL, 10) == 0;
}

/* Returns true if a process's environment holds the setting; false if not, or if the environment
 * cannot be read. */
static bool shows_setting(const char *pid, const char *setting)
{
    char path[64];
    OWNED char *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    OWNED_FILE FILE *environment = fopen(path, "re");
    while (environment != NULL && !found && getdelim(&line, &room, '\0', environment) > 0) {
        found = strcmp(line, setting) == 0;
    }
    return found;
}

/* Returns what shows_setting() does. Waits up to two seconds for a process that is in an exec,
 * which may read its program from a slow file system. Another user's process cannot be read. */
static bool has_setting(const char *pid, const char *setting)
{
    const struct timespec pause = {0, 1000000};
    bool found = shows_setting(pid, setting);
    for (unsigned tries = 0; !found && tries < 2000 && is_in_exec(pid); tries++) {
        nanosleep(&pause, NULL);
        found = shows_setting(pid, setting);
    }
    return found;
}

bool live_has_processes(const char *path)
{
    OWNED char *setting = must_format("%s=%s", stk_option_table[STK_OPTION_RUN].variable, path);
    OWNED_DIR DIR *processes = opendir("/proc");
    struct dirent *entry;
    bool found = false;
    while (processes != NULL && !found && (entry = readdir(processes)) != NULL) {
        found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                has_setting(entry->d_name, setting);
    }
    return found;
}

/* Returns true if the job goes on. Another pid namespace's processes are seen by what they have
 * mapped. */
static bool has_job(const char *path)
{
    return stk_run_is_joined(path) || live_has_processes(path);
}

bool live_is_over(const char *path)
{
    return !lock_is_held(path) && !has_job(path);
}

/* A caller of live_each(). */
struct visitor {
    live_visit *visit;
    void *context;
};

static void visit_if_live(const char *path, void *context)
{
    const struct visitor *visitor = context;
    bool orphaned = !lock_is_held(path);
    if (!orphaned || has_job(path)) {
        visitor->visit(path, orphaned, visitor->context);
    }
}

void live_each(const char *home, live_visit *visit, void *context)
{
    struct visitor visitor = {visit, context};
    live_each_file(home, visit_if_live, &visitor);
}

static void count_live(const char *path, bool orphaned, void *context)
{
    struct live *live = context;
    (void)path;
    live->runs++;
    live->orphans += orphaned;
}

struct live live_count(const char *home)
{
    struct live live = {0, 0};
    live_each(home, count_live, &live);
    return live;
}
