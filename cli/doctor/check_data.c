/* Checks of the data set: the mount that it lies on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "base/volume.h"
#include "cache/origin/mounts.h"
#include "cli/doctor/doctor.h"
#include "cli/os/detached.h"
#include "cli/out/say.h"

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

static bool has_option(const struct mount *mount, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, ",%s,", name);
    return strstr(mount->options, wanted) != NULL;
}

static void judge_nfs(struct doctor *doctor, const char *path, const struct mount *mount)
{
    long rsize = option_value(mount, "rsize");
    if (has_option(mount, "noac") || option_value(mount, "acregmax") == 0) {
        doctor_warn(doctor, "mount it without noac and actimeo=0",
                    "%s: %s of %s remembers no attributes: each first look at a file asks the "
                    "server more than once",
                    path, mount->type, mount->source);
    } else if (rsize > 0 && rsize < 131072) {
        doctor_warn(doctor, "mount it with rsize=1048576", "%s: %s of %s reads %ld bytes at a time",
                    path, mount->type, mount->source, rsize);
    } else {
        doctor_ok(
            doctor, "%s: %s of %s%s", path, mount->type, mount->source,
            option_value(mount, "nconnect") > 1 ? "" : " (one connection; nconnect=8 has several)");
    }
}

static void judge_fuse(struct doctor *doctor, const char *path, const struct mount *mount)
{
    long most = option_value(mount, "max_read");
    if (most > 0 && most < 65536) {
        doctor_warn(doctor, "mount it with max_read=1048576", "%s: %s reads %ld bytes at a time",
                    path, mount->type, most);
    } else {
        doctor_ok(doctor,
                  "%s: %s of %s; directories are listed once in each run (if it keeps their "
                  "times: STOKER_LISTINGS=mtime)",
                  path, mount->type, mount->source);
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

static void judge(struct doctor *doctor, const char *path, const struct path_findings *found)
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
