/* chmod, chown, utime, setxattr and their kin by path, on files whose all is known. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const ways[] = {"pool", "sub/../pool", "poollink", "sym", "hard"};

static void show_attributes(const char *path)
{
    char list[256], value[64];
    ssize_t bytes = listxattr(path, list, sizeof list);
    for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(list + at) + 1) {
        ssize_t got = getxattr(path, list + at, value, sizeof value);
        printf("  %s %.*s\n", list + at, got > 0 ? (int)got : 0, value);
    }
}

/* One call for each way to name a file, with a look at it by all its names; and in vain. */
#define EVERY_WAY(name, type, ...)                                                                 \
    do {                                                                                           \
        type *function = (type *)symbol(name);                                                     \
        for (unsigned i = 0; i < COUNT(ways); i++) {                                               \
            unsigned number = pool_next();                                                         \
            const char *path = pool_path(ways[i], number);                                         \
            SHOW(name, function(__VA_ARGS__));                                                     \
            pool_look(number);                                                                     \
            show_attributes(path);                                                                 \
        }                                                                                          \
        static const char *const vain[] = {"missing", "a.bin/", "", "dangling", NULL};             \
        for (unsigned i = 0; i < COUNT(vain); i++) {                                               \
            const char *path = vain[i];                                                            \
            SHOW(name, function(__VA_ARGS__));                                                     \
        }                                                                                          \
    } while (0)

typedef int chmod_call(const char *, mode_t);
typedef int fchmodat_call(int, const char *, mode_t, int);
typedef int chown_call(const char *, uid_t, gid_t);
typedef int fchownat_call(int, const char *, uid_t, gid_t, int);
typedef int utime_call(const char *, const struct utimbuf *);
typedef int utimes_call(const char *, const struct timeval *);
typedef int futimesat_call(int, const char *, const struct timeval *);
typedef int utimensat_call(int, const char *, const struct timespec *, int);
typedef int setxattr_call(const char *, const char *, const void *, size_t, int);
typedef int removexattr_call(const char *, const char *);

static void modes_and_owners(void)
{
    uid_t me = getuid();
    gid_t group = getgid();
    EVERY_WAY("chmod", chmod_call, path, 0611);
    EVERY_WAY("lchmod", chmod_call, path, 0644);
    EVERY_WAY("fchmodat", fchmodat_call, AT_FDCWD, path, 0622, 0);
    EVERY_WAY("fchmodat", fchmodat_call, AT_FDCWD, path, 0633, AT_SYMLINK_NOFOLLOW);
    EVERY_WAY("chown", chown_call, path, me, me == 0 ? 12 : group);
    EVERY_WAY("lchown", chown_call, path, me, me == 0 ? 13 : group);
    EVERY_WAY("fchownat", fchownat_call, AT_FDCWD, path, me, me == 0 ? 14 : group, 0);
    EVERY_WAY("fchownat", fchownat_call, AT_FDCWD, path, me, group, AT_SYMLINK_NOFOLLOW);
}

static void times(void)
{
    const struct utimbuf seconds = {1000000000, 1000000001};
    const struct timeval micro[2] = {{1000000002, 3}, {1000000004, 5}};
    const struct timespec nano[2] = {{1000000006, 7}, {1000000008, 9}};
    const struct timespec mixed[2] = {{0, UTIME_OMIT}, {-5, 500000000}};
    const struct timespec wrong[2] = {{0, 0}, {0, 2000000000}};
    EVERY_WAY("utime", utime_call, path, &seconds);
    EVERY_WAY("utime", utime_call, path, NULL);
    EVERY_WAY("utimes", utimes_call, path, micro);
    EVERY_WAY("lutimes", utimes_call, path, micro);
    EVERY_WAY("futimesat", futimesat_call, AT_FDCWD, path, micro);
    EVERY_WAY("utimensat", utimensat_call, AT_FDCWD, path, nano, 0);
    EVERY_WAY("utimensat", utimensat_call, AT_FDCWD, path, mixed, AT_SYMLINK_NOFOLLOW);
    EVERY_WAY("utimensat", utimensat_call, AT_FDCWD, path, wrong, 0);
    EVERY_WAY("utimensat", utimensat_call, AT_FDCWD, path, NULL, 0);
}

static void attributes(void)
{
    EVERY_WAY("setxattr", setxattr_call, path, "user.one", "value", 5, 0);
    EVERY_WAY("lsetxattr", setxattr_call, path, "user.two", "value", 5, XATTR_REPLACE);
    EVERY_WAY("lsetxattr", setxattr_call, path, "user.two", "value", 5, 0);
    EVERY_WAY("removexattr", removexattr_call, path, "user.one");
    EVERY_WAY("lremovexattr", removexattr_call, path, "user.two");
    unsigned number = pool_next();
    const char *path = pool_path("pool", number);
    SHOW("setxattr", setxattr(path, "user.three", "3", 1, 0));
    SHOW("lsetxattr", lsetxattr(path, "user.four", "4", 1, XATTR_CREATE));
    pool_look(number);
    show_attributes(path);
    SHOW("removexattr", removexattr(path, "user.three"));
    SHOW("lremovexattr", lremovexattr(path, "user.four"));
    SHOW("lremovexattr", lremovexattr(path, "user.four"));
    pool_look(number);
    show_attributes(path);
}

/* By descriptors of directories, and of the file itself. */
static void descriptors(void)
{
    const struct timeval micro[2] = {{1000000002, 3}, {1000000004, 5}};
    const struct timespec nano[2] = {{1000000006, 7}, {1000000008, 9}};
    int pool = open("pool", O_RDONLY | O_DIRECTORY);
    char name[16];
    unsigned number = pool_next();
    snprintf(name, sizeof name, "%u", number);
    SHOW("fchmodat", fchmodat(pool, name, 0644, 0));
    pool_look(number);
    SHOW("utimensat", utimensat(pool, name, nano, 0));
    pool_look(number);
    SHOW("futimesat", futimesat(pool, name, micro));
    pool_look(number);
    int file = open(pool_path("pool", number), O_RDONLY);
    SHOW("fchownat", fchownat(file, "", 0, 15, AT_EMPTY_PATH));
    pool_look(number);
    show_fd(file);
    SHOW("fchmodat", fchmodat(file, "", 0600, AT_EMPTY_PATH));
    SHOW("utimensat", utimensat(file, "", micro[0].tv_sec ? nano : NULL, AT_EMPTY_PATH));
    pool_look(number);
    futimesat_call *futimesat_ = (futimesat_call *)symbol("futimesat");
    SHOW("futimesat NULL", futimesat_(file, NULL, micro));
    pool_look(number);
    show_fd(file);
    close(file);
    close(pool);
}

/* Through /proc a descriptor is a path: what it stands for is meant. */
static void through_proc(void)
{
    char path[64];
    const struct timespec nano[2] = {{1000000016, 17}, {1000000018, 19}};
    unsigned number = pool_next();
    int file = open(pool_path("pool", number), O_RDONLY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    SHOW("chmod", chmod(path, 0605));
    pool_look(number);
    show_fd(file);
    SHOW("utimensat", utimensat(AT_FDCWD, path, nano, 0));
    SHOW("setxattr", setxattr(path, "user.five", "5", 1, 0));
    pool_look(number);
    show_attributes(pool_path("pool", number));
    close(file);
}

void body(void)
{
    modes_and_owners();
    times();
    attributes();
    descriptors();
    through_proc();
}
