#include "store/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/local.h"
#include "base/proc.h"
#include "base/samples.h"
#include "base/sys.h"

#define LEFT_S 3600

static int make_directory(const char *path)
{
    struct stat stat;
    int error = stk_sys_make_directory(path, 0700);
    if (error != 0 && error != -EEXIST) {
        return -error;
    }
    if (lstat(path, &stat) != 0) {
        return errno;
    }
    bool ours = S_ISDIR(stat.st_mode) && stat.st_uid == geteuid() && (stat.st_mode & 022) == 0;
    return ours ? 0 : EINVAL;
}

static int check_file_system(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) != 0) {
        return errno;
    }
    return stk_local_is(&fs) ? 0 : EINVAL;
}

/* A store of this namespace and another boot: "pid-NUMBER-", and not `name`. */
static bool is_old(const char *other, const char *name)
{
    size_t same = strlen(name) - STK_SAMPLES_BOOT_DIGITS;
    return stk_samples_is_name(other) && strncmp(other, name, same) == 0 &&
           strcmp(other, name) != 0;
}

/* Returns true if no process has had the store open for an hour. It is another namespace's, in
 * which jobs may come one after the other. LMDB's users hold a lock on the first byte of its table.
 */
static bool is_left(int parent, const char *other)
{
    char table[300];
    struct stat stat;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    snprintf(table, sizeof table, "%s/lock.mdb", other);
    STK_OWNED_FD int fd = stk_sys_openat(parent, table, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    return fd >= 0 && fstat(fd, &stat) == 0 && time(NULL) - stat.st_mtime > LEFT_S &&
           fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

static bool is_dead(int parent, const char *other, const char *name)
{
    return is_old(other, name) ||
           (stk_samples_is_name(other) && strcmp(other, name) != 0 && is_left(parent, other));
}

static void remove_store(int parent, const char *name)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "gate", "readers"};
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlinkat(fd, files[i], 0);
    }
    close(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_old(const char *directory, const char *name)
{
    DIR *entries = opendir(directory);
    if (entries == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (is_dead(dirfd(entries), entry->d_name, name)) {
            remove_store(dirfd(entries), entry->d_name);
        }
    }
    closedir(entries);
}

int stk_store_place(char out[STK_STORE_PLACE_BYTES], const char *directory)
{
    char name[STK_SAMPLES_NAME_BYTES];
    if (!stk_samples_name(stk_proc_pid_namespace(), name)) {
        return ENOSYS;
    }
    int length = snprintf(out, STK_STORE_PLACE_BYTES, "%s/%s", directory, name);
    if (length >= STK_STORE_PLACE_BYTES) {
        return ENAMETOOLONG;
    }
    int error = make_directory(directory);
    error = error != 0 ? error : check_file_system(directory);
    if (error == 0) {
        remove_old(directory, name);
        error = make_directory(out);
    }
    return error;
}

/* ---- how large its map may be ---- */

#define MB (UINT64_C(1) << 20)

#define LARGEST (UINT64_C(1) << 40)
#define LEAST   (4 * MB)
/* Smaller ones save nothing, and budgets may grow. */
#define LEAST_WANTED (64 * MB)
/* This part of what is left. */
#define SHARE 4

/* The most there is where that is not known. */
static uint64_t mapped_bytes(void)
{
    char text[32];
    bool known = stk_proc_read_text("/proc/self/statm", text, sizeof text) > 0;
    return known ? strtoull(text, NULL, 10) * (unsigned)getpagesize() : UINT64_MAX;
}

static bool is_limited(uint64_t *left)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        *left = UINT64_MAX;
        return false;
    }
    uint64_t used = mapped_bytes();
    *left = used < limit.rlim_cur ? limit.rlim_cur - used : 0;
    return true;
}

static uint64_t bytes_there(const char *directory)
{
    char path[512];
    struct stat stat_;
    int length = snprintf(path, sizeof path, "%s/data.mdb", directory);
    bool there = length > 0 && (size_t)length < sizeof path && stat(path, &stat_) == 0;
    return there ? (uint64_t)stat_.st_size : 0;
}

/* Returns the bytes that the store may grow to. This process could not read values that other
 * processes write beyond its map, and their budgets may be larger: each may have taken its share of
 * the free room. */
static uint64_t wanted_bytes(const char *directory, uint64_t most_bytes, bool limited)
{
    struct statvfs fs;
    if (most_bytes != 0) {
        most_bytes = most_bytes < LARGEST ? most_bytes : LARGEST;
        return most_bytes + (limited ? most_bytes / 8 : most_bytes);
    }
    return statvfs(directory, &fs) == 0 ? (uint64_t)fs.f_blocks * fs.f_frsize : 0;
}

uint64_t stk_map_bytes(const char *directory, uint64_t most_bytes)
{
    uint64_t left;
    bool limited = is_limited(&left);
    uint64_t map = wanted_bytes(directory, most_bytes, limited);
    uint64_t there = bytes_there(directory);
    map = map > there ? map : there;
    map = map > LEAST_WANTED ? map : LEAST_WANTED;
    map = map < LARGEST ? map : LARGEST;
    map = map < left / SHARE ? map : left / SHARE;
    return map >= LEAST && map >= there ? (map + MB - 1) / MB * MB : 0;
}
