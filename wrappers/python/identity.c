/* The identity of an open file. See identity.h. */
#include "wrappers/python/identity.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sys.h"
#include "base/volume.h"

#define VERSION    2 /* changes with what is hashed */
#define PATH_BYTES 4096

#ifndef AT_STATX_FORCE_SYNC
#define AT_STATX_FORCE_SYNC 0x2000
#endif

/* What is hashed. It has no gaps. */
struct label {
    uint64_t version;
    uint64_t volume; /* images take turns on one loop device */
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    /* Some mounts make up inode numbers and give them to other files later; and an entry's name
     * holds its version. */
    char path[PATH_BYTES];
};

_Static_assert(offsetof(struct label, path) == 7 * sizeof(uint64_t), "no gaps");

static int64_t to_ns(int64_t seconds, int64_t nanoseconds)
{
    /* What does not fit is no time of a file that may be trusted; 0 would be. */
    return seconds < 0 || seconds > INT64_MAX / STK_NS_PER_S - 1
               ? INT64_MAX
               : seconds * STK_NS_PER_S + nanoseconds;
}

/* Through libc's symbol, where the preload stands: of an entry it tells the origin's. */
static bool ask_kernel(int fd, struct label *out)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        return false;
    }
    out->dev = stat.st_dev;
    out->ino = stat.st_ino;
    out->size = (uint64_t)stat.st_size;
    out->mtime_ns = to_ns(stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec);
    out->ctime_ns = to_ns(stat.st_ctim.tv_sec, stat.st_ctim.tv_nsec);
    return true;
}

static bool ask_server(int fd, struct label *out)
{
    struct statx stat;
    int error =
        stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stat);
    if (error != 0 || !S_ISREG(stat.stx_mode)) {
        return false;
    }
    out->dev = (uint64_t)stat.stx_dev_major << 32 | stat.stx_dev_minor;
    out->ino = stat.stx_ino;
    out->size = stat.stx_size;
    out->mtime_ns = to_ns(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec);
    out->ctime_ns = to_ns(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec);
    return true;
}

/* The length of the path, which is not terminated; 0: it cannot be told. */
static size_t read_path(int fd, char *out)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, out, PATH_BYTES);
    return length > 0 && length < PATH_BYTES ? (size_t)length : 0;
}

bool identity_of(int fd, int64_t min_age_ns, struct stk_hash128 *out)
{
    struct statfs fs;
    struct label label;
    if (stk_sys_fstatfs(fd, &fs) != 0) {
        return false;
    }
    bool told = stk_local_is(&fs) ? ask_kernel(fd, &label) : ask_server(fd, &label);
    if (!told) {
        return false;
    }
    label.version = VERSION;
    int64_t latest = stk_clock_realtime_ns() - min_age_ns;
    size_t length = read_path(fd, label.path);
    if (label.mtime_ns > latest || label.ctime_ns > latest || length == 0) {
        return false;
    }
    label.volume = stk_volume_of_fd(fd, &fs);
    *out = stk_hash_128(&label, offsetof(struct label, path) + length, 0);
    return true;
}
