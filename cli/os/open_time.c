#include "cli/os/open_time.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/walk.h"

#define OPENS      10
#define FILE_BYTES (1 << 20)
#define MOST_LOOKS 1000 /* at directory entries, to find so many files */

struct open_times {
    int64_t took_ns[OPENS]; /* sorted */
    unsigned count, looks;
};

static void note(struct open_times *times, int64_t took_ns)
{
    unsigned at = times->count++;
    for (; at > 0 && times->took_ns[at - 1] > took_ns; at--) {
        times->took_ns[at] = times->took_ns[at - 1];
    }
    times->took_ns[at] = took_ns;
}

static int64_t usual_ns(const struct open_times *times)
{
    return times->count > 0 ? times->took_ns[times->count / 2] : 0;
}

static void open_one(struct open_times *times, int dirfd, const char *name, int flags)
{
    char byte;
    int64_t began_ns = stk_clock_boottime_ns();
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd >= 0) {
        if (pread(fd, &byte, 1, 0) == 1) {
            note(times, stk_clock_boottime_ns() - began_ns);
        }
        close(fd);
    }
}

static int visit(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct open_times *times = context;
    if (S_ISREG(stat->st_mode) && stat->st_size > 0) {
        open_one(times, dirfd, name, O_NOFOLLOW);
    }
    return times->count == OPENS || ++times->looks == MOST_LOOKS;
}

int64_t open_time_below_ns(const char *path)
{
    struct open_times times = {.count = 0};
    if (stk_walk(path, visit, &times) < 0) {
        open_one(&times, AT_FDCWD, path, 0);
    }
    return usual_ns(&times);
}

/* Reads the file to its end. Returns the time for each byte. */
static double read_all(int file)
{
    static char buffer[FILE_BYTES / 8];
    int64_t began_ns = stk_clock_boottime_ns();
    for (off_t at = 0; at < FILE_BYTES; at += (off_t)sizeof buffer) {
        if (pread(file, buffer, sizeof buffer, at) != (ssize_t)sizeof buffer) {
            return 0;
        }
    }
    return (double)(stk_clock_boottime_ns() - began_ns) / FILE_BYTES;
}

struct open_cost open_time_of_tier(const char *directory)
{
    char name[64];
    struct open_times times = {.count = 0};
    struct open_cost cost = {0};
    int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) {
        return cost;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    if (posix_fallocate(file, 0, FILE_BYTES) == 0) {
        for (unsigned i = 0; i < OPENS; i++) {
            open_one(&times, AT_FDCWD, name, 0);
        }
        read_all(file); /* the pages are there from the second time on */
        cost.byte_ns = read_all(file);
    }
    close(file);
    cost.open_ns = usual_ns(&times);
    return cost;
}
