/* Checks of the machine and its limits. */
#include <dirent.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/proc.h"
#include "cache/origin/mounts.h"
#include "cli/doctor/doctor.h"
#include "cli/os/descriptors.h"
#include "cli/out/say.h"

#define SHM           "/dev/shm"
#define SMALL_BYTES   (INT64_C(256) << 20)
#define OPTIONS_BYTES 512 /* of a mount */

static bool is_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

/* ---- memory ---- */

void doctor_look_at_shared_memory(struct doctor *doctor)
{
    static const char *const enlarge = "mount -o remount,size=50% " SHM;
    struct statfs fs;
    char size[STK_SIZE_TEXT], left[STK_SIZE_TEXT];
    if (statfs(SHM, &fs) != 0 || fs.f_type != TMPFS_MAGIC) {
        doctor_warn(doctor, "mount -t tmpfs -o mode=1777 tmpfs " SHM, SHM " is no tmpfs");
        return;
    }
    int64_t bytes = (int64_t)fs.f_blocks * fs.f_bsize,
            available = (int64_t)fs.f_bavail * fs.f_bsize;
    size_text(size, (uint64_t)bytes);
    size_text(left, (uint64_t)available);
    if (bytes < SMALL_BYTES) {
        doctor_warn(doctor, is_container() ? "docker run --shm-size=8g ..." : enlarge,
                    SHM " has only %s, which the job needs itself: nothing is cached there", size);
    } else if (available < bytes / 8) {
        doctor_warn(doctor, "stoker clear", SHM ": only %s of %s are free", left, size);
    } else {
        doctor_ok(doctor, SHM ": %s, of which %s are free", size, left);
    }
}

/* Reads the word in brackets of a setting such as "always [never]". */
static bool read_setting(const char *path, char *out, size_t bytes)
{
    char text[256];
    const char *from = stk_proc_read_text(path, text, sizeof text) > 0 ? strchr(text, '[') : NULL;
    const char *to = from != NULL ? strchr(from, ']') : NULL;
    if (to == NULL) {
        return false;
    }
    snprintf(out, bytes, "%.*s", (int)(to - from - 1), from + 1);
    return true;
}

/* Copies the options of the last mount, which counts. */
static void look_at_mount(void *options, const struct stk_mount *mount)
{
    if (strcmp(mount->point, SHM) == 0 && strcmp(mount->type, "tmpfs") == 0) {
        snprintf(options, OPTIONS_BYTES, "%s", mount->options);
    }
}

static bool shm_is_mounted_with(const char *option)
{
    char options[OPTIONS_BYTES] = "";
    stk_mounts_visit(look_at_mount, options);
    return strstr(options, option) != NULL;
}

/* Advises larger pages for files in /dev/shm and for batches, where they have none. A mount's own
 * option decides for its files, unless the setting is "deny". The setting decides for files without
 * a name, which batches use. */
static void note_small_pages(struct doctor *doctor, const char *setting)
{
    if (strcmp(setting, "deny") != 0 && !shm_is_mounted_with("huge=within_size")) {
        doctor_advise(doctor, "mount -o remount,huge=within_size " SHM,
                      SHM " has pages of 4 KB; from some 64 KB on files are read faster out of "
                          "larger ones");
    }
    if (strcmp(setting, "never") == 0 || strcmp(setting, "deny") == 0) {
        doctor_advise(doctor, "echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled",
                      "shared memory: %s; batches could take larger pages", setting);
    } else {
        doctor_ok(doctor, "shared memory: %s", setting);
    }
}

/* Warns of huge pages for every file: with pages of 2 MiB for files of 100 KiB, a cache would hold
 * a twentieth. */
void doctor_look_at_huge_pages(struct doctor *doctor)
{
    char setting[64];
    if (!read_setting("/sys/kernel/mm/transparent_hugepage/shmem_enabled", setting,
                      sizeof setting)) {
        doctor_ok(doctor, "this kernel has none for shared memory");
    } else if (strcmp(setting, "force") == 0) {
        doctor_warn(doctor, "echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled",
                    "forced for shared memory: each small file may take 2 MiB of it");
    } else if (shm_is_mounted_with("huge=always")) {
        doctor_warn(doctor, "mount -o remount,huge=within_size " SHM,
                    SHM " is mounted with huge=always: each small file may take 2 MiB of it");
    } else {
        note_small_pages(doctor, setting);
    }
}

void doctor_look_at_group(struct doctor *doctor)
{
    struct stk_memory_view view;
    char total[STK_SIZE_TEXT], left[STK_SIZE_TEXT];
    stk_memory_look(&view);
    if (view.group_id == 0 || view.group.total == INT64_MAX) {
        doctor_ok(doctor, "no limit of memory; the machine has %s free of %s",
                  size_text(left, (uint64_t)view.machine.available),
                  size_text(total, (uint64_t)view.machine.total));
        return;
    }
    size_text(total, (uint64_t)view.group.total);
    size_text(left, (uint64_t)view.group.available);
    if (view.group.available < view.group.total / 8) {
        doctor_warn(doctor,
                    is_container() ? "docker update --memory=SIZE CONTAINER"
                                   : "ask for more memory (srun --mem=SIZE), or stoker clear",
                    "only %s are left of the limit of %s, and cached files count in it", left,
                    total);
    } else {
        doctor_ok(doctor, "a limit of memory of %s, of which %s are left", total, left);
    }
}

/* ---- limits ---- */

static bool has_gpu(void)
{
    return access("/proc/driver/nvidia/version", R_OK) == 0;
}

/* Checks the locked memory that batches need on their way to a GPU (gpu/pin.c). */
void doctor_look_at_memlock(struct doctor *doctor)
{
    struct rlimit limit;
    char size[STK_SIZE_TEXT];
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) {
        doctor_ok(doctor, "no limit");
    } else if (has_gpu() && limit.rlim_cur < (UINT64_C(64) << 20)) {
        doctor_warn(doctor,
                    is_container() ? "docker run --ulimit memlock=-1 ..." : "ulimit -l unlimited",
                    "a limit of %s, which may not do for batches on their way to the GPU",
                    size_text(size, limit.rlim_cur));
    } else {
        doctor_ok(doctor, "a limit of %s", size_text(size, limit.rlim_cur));
    }
}

void doctor_look_at_descriptors(struct doctor *doctor)
{
    struct rlimit limit;
    char fix[64];
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= 1024) {
        doctor_ok(doctor, "at most %" PRIu64 " open files", (uint64_t)limit.rlim_cur);
        return;
    }
    if (limit.rlim_max >= 1024) {
        snprintf(fix, sizeof fix, "ulimit -n %" PRIu64,
                 (uint64_t)(limit.rlim_max < 65536 ? limit.rlim_max : 65536));
    } else {
        snprintf(fix, sizeof fix, "%s",
                 is_container() ? "docker run --ulimit nofile=65536 ..."
                                : "as root: ulimit -n 65536");
    }
    doctor_warn(doctor, fix, "at most %" PRIu64 " open files: loaders with many workers need more",
                (uint64_t)limit.rlim_cur);
}

/* ---- the GPU ---- */

static unsigned count_gpus(void)
{
    unsigned count = 0;
    OWNED_DIR DIR *all = opendir("/proc/driver/nvidia/gpus");
    for (const struct dirent *one; all != NULL && (one = readdir(all)) != NULL;) {
        count += one->d_name[0] != '.';
    }
    return count;
}

void doctor_look_at_gpu(struct doctor *doctor)
{
    char text[256];
    if (stk_proc_read_text("/proc/driver/nvidia/version", text, sizeof text) <= 0) {
        doctor_ok(doctor, "no NVIDIA driver: stoker.Loader works on the processor");
        return;
    }
    text[strcspn(text, "\n")] = '\0';
    if (access("/dev/nvidiactl", R_OK | W_OK) != 0) {
        doctor_warn(doctor, is_container() ? "docker run --gpus all ..." : "nvidia-modprobe -c 0",
                    "there is a driver, but /dev/nvidiactl cannot be used: %s", text);
        return;
    }
    doctor_ok(doctor, "%u, %s", count_gpus(), text);
}
