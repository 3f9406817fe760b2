/* Parses files of /proc. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"

/* The kernel's USER_HZ: 100 on every architecture that Stoker runs on. */
#define TICK_NS              (STK_NS_PER_S / 100)
#define MAX_ANCESTORS        64
#define EXE_BYTES            512
#define MOST_GROUPS          1024
#define DAY_NS               (24 * 3600 * STK_NS_PER_S)
#define PASSING_CAPABILITIES (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH)
#define SETTING              "STOKER_"
#define CONFINEMENT          "\nNoNewPrivs:\t"
#define BEFORE_NEXT_LINE     (sizeof CONFINEMENT) /* bytes of that line that were read */
/* The most that is read: no environment made by hand is larger. */
#define MAX_ENVIRONMENT_BYTES (1u << 20)

long stk_proc_read_text(const char *path, char *buffer, size_t bytes)
{
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    size_t used = 0;
    ssize_t got;
    do {
        got = stk_sys_read(fd, buffer + used, bytes - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0 && used < bytes - 1);
    buffer[used] = '\0';
    return got < 0 ? got : (long)used;
}

static void proc_path(char path[48], pid_t pid, const char *leaf)
{
    stk_text_print(path, 48, "/proc/%lu%s", (uint64_t)pid, leaf);
}

/* Moves behind `fields` blanks. */
static const char *skip_fields(const char *at, unsigned fields)
{
    while (fields > 0 && *at != '\0') {
        fields -= *at++ == ' ';
    }
    return at;
}

struct process {
    pid_t parent;
    uint64_t group;
    int64_t start_ns;
};

static int look_at(pid_t pid, struct process *out)
{
    char path[48], stat[512];
    uint64_t ticks, ppid;
    proc_path(path, pid, "/stat");
    long length = stk_proc_read_text(path, stat, sizeof stat);
    if (length < 0) {
        return (int)length;
    }
    /* "pid (name) state ppid pgrp ...". The name may hold any character, so start behind the last
     * bracket. */
    const char *state = strrchr(stat, ')');
    if (state == NULL) {
        return -EINVAL;
    }
    const char *ppid_at = skip_fields(state, 2);
    const char *group_at = skip_fields(state, 3);
    const char *start_at = skip_fields(state, 20);
    if (!stk_text_take_number(&ppid_at, &ppid) || !stk_text_take_number(&group_at, &out->group) ||
        !stk_text_take_number(&start_at, &ticks)) {
        return -EINVAL;
    }
    out->parent = (pid_t)ppid;
    out->start_ns = stk_clock_of_machine_ns((int64_t)(ticks + 1) * TICK_NS);
    return 0;
}

bool stk_proc_is_over(pid_t pid)
{
    char path[48], stat[512];
    if (!stk_sys_process_exists(pid)) {
        return true;
    }
    proc_path(path, pid, "/stat");
    const char *state = stk_proc_read_text(path, stat, sizeof stat) > 0 ? strrchr(stat, ')') : NULL;
    return state != NULL && strncmp(state, ") Z", 3) == 0;
}

int stk_proc_start(pid_t pid, int64_t *start_ns, pid_t *parent)
{
    struct process process;
    int error = look_at(pid, &process);
    if (error == 0) {
        *start_ns = process.start_ns;
        *parent = process.parent;
    }
    return error;
}

static bool read_exe(pid_t pid, char exe[EXE_BYTES])
{
    char path[48];
    proc_path(path, pid, "/exe");
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, path, exe, EXE_BYTES - 1);
    if (length <= 0) {
        return false;
    }
    exe[length] = '\0';
    return true;
}

/* Returns the pid by which /proc knows this process. It differs from getpid() under a /proc of
 * another namespace. */
static pid_t pid_in_proc(void)
{
    char link[32];
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, "/proc/self", link, sizeof link - 1);
    uint64_t pid = 0;
    if (length > 0) {
        const char *at = link;
        link[length] = '\0';
        stk_text_take_number(&at, &pid);
    }
    return (pid_t)pid;
}

/* ---- settings ---- */

/* One string of an environment, as far as it is read. */
struct environment_string {
    size_t length;
    bool is_ours;
    uint64_t hash;
};

static void take_byte(struct environment_string *setting, char byte)
{
    if (setting->length < strlen(SETTING)) {
        setting->is_ours = setting->is_ours && byte == SETTING[setting->length];
    }
    setting->length++;
    setting->hash = (setting->hash ^ (unsigned char)byte) * UINT64_C(0x9fb21c651e98df25);
    setting->hash ^= setting->hash >> 29;
}

/* Takes bytes of an environment, and adds up the hashes of its complete strings, which may stand in
 * any order. */
static void take_bytes(struct environment_string *setting, const char *bytes, size_t count,
                       uint64_t *sum)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != '\0') {
            take_byte(setting, bytes[i]);
            continue;
        }
        *sum += setting->is_ours && setting->length > strlen(SETTING) ? setting->hash : 0;
        *setting = (struct environment_string){.is_ours = true};
    }
}

/* Returns a hash of the STOKER_ settings that a process was started with; 0: it has none, or /proc
 * does not show them. */
static uint64_t hash_settings(pid_t pid)
{
    char path[48], bytes[1024];
    struct environment_string setting = {.is_ours = true};
    uint64_t sum = 0;
    size_t done = 0;
    ssize_t got;
    proc_path(path, pid, "/environ");
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return 0;
    }
    while ((got = stk_sys_read(fd, bytes, sizeof bytes)) > 0 && done < MAX_ENVIRONMENT_BYTES) {
        take_bytes(&setting, bytes, (size_t)got, &sum);
        done += (size_t)got;
    }
    return got == 0 ? sum : 0;
}

/* ---- the run ---- */

int64_t stk_proc_latest_day(int64_t start_ns, int64_t now_ns)
{
    int64_t days = now_ns > start_ns ? (now_ns - start_ns) / DAY_NS : 0;
    return start_ns + days * DAY_NS;
}

static bool runs(pid_t pid, const char *exe)
{
    char other[EXE_BYTES];
    return read_exe(pid, other) && strcmp(exe, other) == 0;
}

/* Finds the start of the topmost ancestor of the same run. A program that runs for weeks starts
 * jobs with settings that it lacks itself, or in groups of their own, as shells and notebooks do.
 * The workers of a job have the job's settings and group. */
static int64_t topmost_start_ns(pid_t pid, const struct process *self)
{
    char exe[EXE_BYTES];
    uint64_t settings = 0;
    struct process at = *self, parent;
    bool known = read_exe(pid, exe);
    for (int i = 0; known && i < MAX_ANCESTORS && at.parent > 0; i++) {
        if (look_at(at.parent, &parent) != 0 || parent.group != self->group ||
            !runs(at.parent, exe)) {
            break;
        }
        settings = settings != 0 ? settings : hash_settings(pid);
        if (settings == 0 || hash_settings(at.parent) != settings) {
            break;
        }
        at = parent;
    }
    return at.start_ns;
}

int64_t stk_proc_run_start_ns(void)
{
    struct process self;
    int64_t now_ns = stk_clock_boottime_ns();
    pid_t pid = pid_in_proc();
    if (pid == 0 || look_at(pid, &self) != 0) {
        return now_ns;
    }
    int64_t start_ns = pid == stk_sys_getpid() ? topmost_start_ns(pid, &self) : self.start_ns;
    return stk_proc_latest_day(start_ns, now_ns);
}

uint64_t stk_proc_view(void)
{
    struct {
        char mounts[64];
        uint64_t root_dev, root_ino;
    } view = {{0}, 0, 0};
    struct stat root;
    if (stk_sys_readlinkat(AT_FDCWD, "/proc/self/ns/mnt", view.mounts, sizeof view.mounts) <= 0 ||
        stk_sys_fstatat(AT_FDCWD, "/", &root, 0) != 0) {
        return 0;
    }
    view.root_dev = root.st_dev;
    view.root_ino = root.st_ino;
    return stk_hash_64(&view, sizeof view, 0);
}

/* Returns a sum over the groups, which does not depend on their order. The group in effect may be
 * among them or not. */
static uint64_t sum_of_groups(void)
{
    gid_t groups[MOST_GROUPS], own = stk_sys_getegid();
    int count = stk_sys_getgroups(MOST_GROUPS, groups);
    uint64_t sum = stk_hash_64(&own, sizeof own, 0);
    for (int i = 0; i < count; i++) {
        sum += groups[i] != own ? stk_hash_64(&groups[i], sizeof groups[i], 0) : 0;
    }
    return count >= 0 ? sum : sum + (uint64_t)stk_sys_getgroups(0, NULL);
}

/* ---- confinement ---- */

/* Reads /proc/.../status from the line of no_new_privs on; seccomp's lines follow it. The line of
 * groups before it may have any length. Leaves "" if there is no such line. */
static void read_confinement(int fd, char *text, size_t bytes)
{
    size_t used = 0;
    ssize_t got;
    do {
        got = stk_sys_read(fd, text + used, bytes - 1 - used);
        used += got > 0 ? (size_t)got : 0;
        text[used] = '\0';
        const char *found = strstr(text, CONFINEMENT);
        size_t kept = found != NULL             ? used - (size_t)(found - text)
                      : used < BEFORE_NEXT_LINE ? used
                                                : BEFORE_NEXT_LINE;
        memmove(text, text + used - kept, kept + 1);
        used = kept;
    } while (got > 0 && used < bytes - 1);
    text[strncmp(text, CONFINEMENT, strlen(CONFINEMENT)) == 0 ? used : 0] = '\0';
}

/* This thread's confinement, as the kernel reports it. */
struct confinement {
    int64_t no_new_privs;
    int64_t seccomp; /* 0: off; 1 if the kernel says nothing */
    int64_t filters;
};

static struct confinement confinement(void)
{
    char text[512] = "";
    STK_OWNED_FD int fd =
        stk_sys_openat(AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        fd = stk_sys_openat(AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    }
    if (fd >= 0) {
        read_confinement(fd, text, sizeof text);
    }
    return (struct confinement){
        .no_new_privs = stk_text_number_after(text, "NoNewPrivs:", 0),
        .seccomp = text[0] != '\0' ? stk_text_number_after(text, "Seccomp:", 0) : 1,
        .filters = stk_text_number_after(text, "Seccomp_filters:", 0),
    };
}

/* Hashes the label of SELinux, AppArmor and their like. */
static uint64_t label(void)
{
    char text[256];
    long length = stk_proc_read_text("/proc/thread-self/attr/current", text, sizeof text);
    return length > 0 ? stk_hash_64(text, (size_t)length, 0) : 0;
}

/* Returns true if Landlock is known to confine this thread. With CAP_SYS_ADMIN Landlock needs no
 * no_new_privs: the one sign of it is that the thread can mount nothing. Under seccomp the function
 * does not try to mount, since seccomp may end a program that tries. */
static bool is_landlocked(uint32_t capabilities, const struct confinement *by)
{
    return (capabilities & 1u << CAP_SYS_ADMIN) != 0 && by->seccomp == 0 &&
           stk_sys_mount_nothing() == -EPERM;
}

uint64_t stk_proc_rights(void)
{
    uint32_t capabilities = stk_sys_capabilities();
    struct confinement by = confinement();
    const uint64_t rights[] = {sum_of_groups(),
                               capabilities & PASSING_CAPABILITIES,
                               (uint64_t)by.no_new_privs,
                               (uint64_t)by.filters,
                               label(),
                               is_landlocked(capabilities, &by)};
    return stk_hash_64(rights, sizeof rights, 0);
}

void stk_proc_fd_path(char out[32], int fd)
{
    stk_text_print(out, 32, "/proc/self/fd/%lu", (uint64_t)(unsigned)fd);
}

/* A child of fork, which may be in another namespace, asks for itself. The first process of each
 * namespace has the number 1, so it asks each time: its parent may be the first of another one. */
uint64_t stk_proc_pid_namespace(void)
{
    static _Atomic uint64_t known; /* the process that has asked, and its namespace */
    uint64_t pid = (uint64_t)stk_sys_getpid(), seen = atomic_load(&known);
    struct stat namespace;
    if (pid != 1 && seen >> 32 == pid) {
        return seen & UINT32_MAX;
    }
    if (stk_sys_fstatat(AT_FDCWD, "/proc/self/ns/pid", &namespace, 0) != 0) {
        return 0;
    }
    atomic_store(&known, pid << 32 | (namespace.st_ino & UINT32_MAX));
    return namespace.st_ino & UINT32_MAX;
}

uint64_t stk_proc_boot(void)
{
    static _Atomic uint64_t known;
    char text[64];
    uint64_t boot = atomic_load_explicit(&known, memory_order_relaxed);
    if (boot == 0) {
        long length = stk_proc_read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
        boot = length > 0 ? stk_hash_64(text, (size_t)length, 0) : 0;
        atomic_store_explicit(&known, boot, memory_order_relaxed);
    }
    return boot;
}
