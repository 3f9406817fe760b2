/* How large a store's map may be. See store/map.h. */
#include "store/map.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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
    char text[32] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && read(fd, text, sizeof text - 1) > 0;
    if (fd >= 0) {
        close(fd);
    }
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
