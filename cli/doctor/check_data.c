/* Checks of the data set: the mount that it lies on. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/options.h"
#include "base/volume.h"
#include "base/walk.h"
#include "cache/origin/mounts.h"
#include "cli/doctor/doctor.h"
#include "cli/os/detached.h"
#include "cli/os/open_time.h"
#include "cli/out/say.h"

#define COUNT_NS    STK_NS_PER_S /* for counting files */
#define ROUND_FILES 10000        /* of the forecast, if there are more than could be counted */

struct mount {
    uint64_t id;
    bool found;
    char type[64], source[256], options[1032]; /* of the file system */
};

static void take_mount(void *wanted, const struct stk_mount *mount)
{
    struct mount *out = wanted;
    if (mount->id == out->id) {
        out->found = true;
        snprintf(out->type, sizeof out->type, "%s", mount->type);
        snprintf(out->source, sizeof out->source, "%s", mount->source);
        snprintf(out->options, sizeof out->options, ",%s,", mount->options);
    }
}

/* Returns the value of a numeric option, or -1. */
static long option_value(const struct mount *mount, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, ",%s=", name);
    const char *at = strstr(mount->options, wanted);
    return at != NULL ? atol(at + strlen(wanted)) : -1;
}

static void judge_nfs(struct doctor *doctor, const char *path, const struct mount *mount)
{
    long rsize = option_value(mount, "rsize");
    if (strstr(mount->options, ",noac,") != NULL || option_value(mount, "acregmax") == 0) {
        doctor_warn(doctor, "mount it without noac and actimeo=0",
                    "%s: %s of %s remembers no attributes: each first look at a file asks the "
                    "server more than once",
                    path, mount->type, mount->source);
    } else if (rsize > 0 && rsize < 131072) {
        doctor_warn(doctor, "mount it with rsize=1048576", "%s: %s of %s reads %ld bytes at a time",
                    path, mount->type, mount->source, rsize);
    } else if (option_value(mount, "nconnect") > 1) {
        doctor_ok(doctor, "%s: %s of %s", path, mount->type, mount->source);
    } else {
        doctor_advise(doctor, "mount it with nconnect=8", "%s: %s of %s, by one connection", path,
                      mount->type, mount->source);
    }
}

static void judge_fuse(struct doctor *doctor, const char *path, const struct mount *mount)
{
    long most = option_value(mount, "max_read");
    if (most > 0 && most < 65536) {
        doctor_warn(doctor, "mount it with max_read=1048576", "%s: %s reads %ld bytes at a time",
                    path, mount->type, most);
    } else {
        doctor_advise(doctor, "STOKER_LISTINGS=mtime, if it keeps the times of directories",
                      "%s: %s of %s; directories are listed once in each run", path, mount->type,
                      mount->source);
    }
}

/* The answer about a path, from a detached process. */
struct path_findings {
    int error; /* of opening the path, or 0 */
    bool memory;
    struct mount mount;
};

static void look_at(void *path, int out)
{
    struct statfs fs;
    struct path_findings found = {.error = 0};
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        found.error = errno;
    } else {
        found.memory = fstatfs(fd, &fs) == 0 && stk_local_is_memory(&fs);
        if (stk_volume_mount_id(fd, &found.mount.id)) {
            stk_mounts_visit(take_mount, &found.mount);
        }
    }
    detached_answer(out, &found, sizeof found);
}

/* Judges by the type of the file system. */
static void judge_mount(struct doctor *doctor, const char *path, const struct path_findings *found)
{
    const struct mount *mount = &found->mount;
    if (found->error != 0) {
        doctor_warn(doctor, "name a directory that is there", "%s: %s", path,
                    strerror(found->error));
    } else if (!mount->found) {
        doctor_warn(doctor, "mount -t proc proc /proc", "%s: its mount cannot be found", path);
    } else if (found->memory) {
        doctor_warn(doctor, "name the data set where it lies on a disk or a network",
                    "%s lies in memory (%s): its files are not cached", path, mount->type);
    } else if (strncmp(mount->type, "nfs", 3) == 0) {
        judge_nfs(doctor, path, mount);
    } else if (strncmp(mount->type, "fuse", 4) == 0) {
        judge_fuse(doctor, path, mount);
    } else {
        doctor_ok(doctor, "%s: %s of %s", path, mount->type, mount->source);
    }
}

/* ---- how long it takes ---- */

/* The times of opens, from a detached process. */
struct data_look {
    int64_t origin_ns, tier_ns; /* 0: not known */
    uint64_t files;
    bool cut; /* there may be more files */
    int64_t until_ns;
};

static int count_file(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct data_look *times = context;
    (void)dirfd, (void)name;
    times->files += S_ISREG(stat->st_mode);
    times->cut = stk_clock_boottime_ns() > times->until_ns;
    return times->cut;
}

/* Returns the first tier of the environment, or else that of a run without --tier. */
static const char *first_tier(char out[PATH_MAX])
{
    const char *tiers = stk_option_value(STK_OPTION_TIERS);
    snprintf(out, PATH_MAX, "%s", tiers != NULL && *tiers == '/' ? tiers : "/dev/shm");
    out[strcspn(out, ":,")] = '\0';
    return out;
}

static void time_opens(void *path, int out)
{
    char tier[PATH_MAX];
    struct data_look times = {.origin_ns = open_time_below_ns(path)};
    times.tier_ns = open_time_of_tier(first_tier(tier)).open_ns;
    times.until_ns = stk_clock_boottime_ns() + COUNT_NS;
    stk_walk(path, count_file, &times);
    detached_answer(out, &times, sizeof times);
}

/* Returns how many opens the forecast is for: those of all files, or a round number if counting
 * takes too long. */
static uint64_t opens_of_forecast(const struct data_look *times)
{
    return times->files == 0 ? 1 : times->cut ? ROUND_FILES : times->files;
}

static void say_times(struct doctor *doctor, const char *path, const struct data_look *times)
{
    uint64_t opens = opens_of_forecast(times);
    double first_s = (double)times->origin_ns / 1e9 * (double)opens;
    double later_s = (double)times->tier_ns / 1e9 * (double)opens;
    doctor_ok(doctor,
              "%s: an open and its first byte take %.3f ms there (the median of ten), and %.3f ms "
              "in the cache",
              path, (double)times->origin_ns / 1e6, (double)times->tier_ns / 1e6);
    doctor_ok(doctor,
              "%s: %s" COUNTED ": opens of a first epoch wait some %.1f s, shared by the "
              "workers; later ones %.1f s",
              path, times->cut ? "for each " : "", COUNT_OF(opens, "file", "files"), first_s,
              later_s);
}

/* Says what a first epoch will cost. A server that does not answer in time is not waited for. */
static void forecast(struct doctor *doctor, char *path)
{
    struct data_look times;
    enum detached_state state =
        detached_ask(time_opens, path, &times, sizeof times, DOCTOR_PATIENCE_S * 1000);
    if (state == DETACHED_LATE) {
        doctor_advise(doctor, "ask again when the server is less busy",
                      "%s: ten opens take more than %d s", path, DOCTOR_PATIENCE_S);
    } else if (state == DETACHED_ANSWERED && times.origin_ns > 0) {
        say_times(doctor, path, &times);
    }
}

/* Judges a path that answered. */
static void judge(struct doctor *doctor, char *path, const struct path_findings *found)
{
    judge_mount(doctor, path, found);
    if (found->error == 0 && !found->memory) {
        forecast(doctor, path);
    }
}

void doctor_look_at_data(struct doctor *doctor)
{
    if (doctor->paths[0] == NULL) {
        doctor_ok(doctor, "none named: stoker doctor DIR looks at its mount");
    }
    for (char **path = doctor->paths; *path != NULL; path++) {
        struct path_findings found;
        enum detached_state state =
            detached_ask(look_at, *path, &found, sizeof found, DOCTOR_PATIENCE_S * 1000);
        if (state == DETACHED_ANSWERED) {
            judge(doctor, *path, &found);
        } else if (state == DETACHED_LATE) {
            doctor_warn(doctor, "mend its mount, or the server behind it", "%s: no answer for %d s",
                        *path, DOCTOR_PATIENCE_S);
        } else {
            doctor_no_process(doctor, *path);
        }
    }
}
