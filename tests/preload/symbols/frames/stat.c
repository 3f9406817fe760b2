/* The stat family, by path and by descriptor, of this and of older libcs. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef int stat_call(const char *, struct stat *);
typedef int fstat_call(int, struct stat *);
typedef int fstatat_call(int, const char *, struct stat *, int);
typedef int statx_call(int, const char *, int, unsigned, struct statx *);
/* The stat functions of glibc before 2.33, whose programs are still about: with the version of
 * struct stat. */
typedef int xstat_call(int, const char *, struct stat *);
typedef int fxstat_call(int, int, struct stat *);
typedef int fxstatat_call(int, int, const char *, struct stat *, int);

static const char *const path_names[] = {"stat", "stat64", "lstat", "lstat64"};
static const char *const fd_names[] = {"fstat", "fstat64"};
static const char *const at_names[] = {"fstatat", "fstatat64"};
static const char *const xpath_names[] = {"__xstat", "__xstat64", "__lxstat", "__lxstat64"};
static const char *const xfd_names[] = {"__fxstat", "__fxstat64"};
static const char *const xat_names[] = {"__fxstatat", "__fxstatat64"};
#if defined(__x86_64__)
static const int versions[] = {1, 0, -1, 2, 3};
#else
static const int versions[] = {0, -1, 1, 2, 3};
#endif
static const int flag_sets[] = {0,
                                AT_SYMLINK_NOFOLLOW,
                                AT_NO_AUTOMOUNT,
                                AT_EMPTY_PATH,
                                AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
                                0x40000000};
static const int statx_flag_sets[] = {AT_STATX_FORCE_SYNC, AT_STATX_DONT_SYNC,
                                      AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC};
static const unsigned masks[] = {STATX_BASIC_STATS,        STATX_BASIC_STATS | STATX_BTIME,
                                 STATX_SIZE | STATX_TYPE,  0,
                                 STATX_ALL | STATX_MNT_ID, STATX__RESERVED};

static void show(const char *name, int number, const char *path, int flags, int result,
                 const struct stat *stat)
{
    char label[8192];
    int error = errno;
    snprintf(label, sizeof label, "%s(%d, %s, %x)", name, number, path ? path : "NULL",
             (unsigned)flags);
    show_result(label, result, error);
    if (result == 0) {
        show_stat(stat);
    }
}

/* Runs a call on a struct that holds rubbish, with errno set, and shows it. */
#define TRY(name, number, path, flags, type, ...)                                                  \
    do {                                                                                           \
        struct stat out;                                                                           \
        type *function = (type *)symbol(name);                                                     \
        memset(&out, 0x55, sizeof out);                                                            \
        errno = SENTINEL;                                                                          \
        int result = function(__VA_ARGS__);                                                        \
        show(name, number, path, flags, result, &out);                                             \
    } while (0)

static void try_statx(int dirfd, const char *path, int flags, unsigned mask)
{
    char label[8192];
    struct statx out;
    statx_call *function = (statx_call *)symbol("statx");
    memset(&out, 0x55, sizeof out);
    errno = SENTINEL;
    int result = function(dirfd, path, flags, mask, &out);
    int error = errno;
    snprintf(label, sizeof label, "statx(%d, %s, %x, %x)", dirfd, path ? path : "NULL",
             (unsigned)flags, mask);
    show_result(label, result, error);
    if (result == 0) {
        show_statx(&out, mask & ~STATX_MNT_ID);
    }
}

static void statx_everything(int dirfd, const char *path)
{
    for (unsigned i = 0; i < COUNT(masks); i++) {
        for (unsigned j = 0; j < COUNT(flag_sets); j++) {
            try_statx(dirfd, path, flag_sets[j], masks[i]);
        }
        for (unsigned j = 0; j < COUNT(statx_flag_sets); j++) {
            try_statx(dirfd, path, statx_flag_sets[j], masks[i]);
        }
    }
}

static void at_everything(int dirfd, const char *path)
{
    for (unsigned j = 0; j < COUNT(flag_sets); j++) {
        int flags = flag_sets[j];
        for (unsigned i = 0; i < COUNT(at_names); i++) {
            TRY(at_names[i], dirfd, path, flags, fstatat_call, dirfd, path, &out, flags);
        }
        for (unsigned i = 0; i < COUNT(xat_names); i++) {
            TRY(xat_names[i], dirfd, path, flags, fxstatat_call, versions[0], dirfd, path, &out,
                flags);
        }
    }
}

static void path_everything(const char *path)
{
    for (unsigned i = 0; i < COUNT(path_names); i++) {
        TRY(path_names[i], 0, path, 0, stat_call, path, &out);
        TRY(xpath_names[i], 0, path, 0, xstat_call, versions[0], path, &out);
    }
    at_everything(AT_FDCWD, path);
    statx_everything(AT_FDCWD, path);
}

static void fd_everything(int fd)
{
    for (unsigned i = 0; i < COUNT(fd_names); i++) {
        TRY(fd_names[i], fd, "", 0, fstat_call, fd, &out);
        TRY(xfd_names[i], fd, "", 0, fxstat_call, versions[0], fd, &out);
    }
    at_everything(fd, "");
    statx_everything(fd, "");
}

static void every_version(const char *path)
{
    int fd = open(path, O_RDONLY);
    for (unsigned i = 1; i < COUNT(versions); i++) {
        int version = versions[i];
        for (unsigned j = 0; j < COUNT(xpath_names); j++) {
            TRY(xpath_names[j], version, path, 0, xstat_call, version, path, &out);
        }
        for (unsigned j = 0; j < COUNT(xfd_names); j++) {
            TRY(xfd_names[j], version, "", 0, fxstat_call, version, fd, &out);
            TRY(xat_names[j], version, path, 0, fxstatat_call, version, AT_FDCWD, path, &out, 0);
        }
    }
    close(fd);
}

/* Each symbol meets a file first that no call has asked for before, and asks again. */
static void learn_and_know(void)
{
    char path[64];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "own/%u", 40 + i);
        TRY(path_names[i], 0, path, 0, stat_call, path, &out);
        TRY(path_names[i], 0, path, 0, stat_call, path, &out);
        snprintf(path, sizeof path, "own/%u", 44 + i);
        TRY(xpath_names[i], 0, path, 0, xstat_call, versions[0], path, &out);
        TRY(xpath_names[i], 0, path, 0, xstat_call, versions[0], path, &out);
        snprintf(path, sizeof path, "own/%u", 48 + i);
        try_statx(AT_FDCWD, path, 0, masks[i % 2]);
        try_statx(AT_FDCWD, path, 0, masks[i % 2]);
        snprintf(path, sizeof path, "own/%u", 52 + i);
        TRY(at_names[i % 2], 0, path, 0, fstatat_call, AT_FDCWD, path, &out, 0);
        TRY(at_names[i % 2], 0, path, 0, fstatat_call, AT_FDCWD, path, &out, 0);
    }
}

static void descriptors(void)
{
    static const char *const files[] = {"a.bin", "link",           "private",
                                        "sub",   "../other/o.txt", "own/57"};
    for (unsigned i = 0; i < COUNT(files); i++) {
        char path[64];
        int fd = open(files[i], O_RDONLY);
        fd_everything(fd);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        path_everything(path);
        snprintf(path, sizeof path, "/dev/fd/%d", fd);
        path_everything(path);
        int fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
        snprintf(path, sizeof path, "%d", fd);
        at_everything(fds, path);
        statx_everything(fds, path);
        close(fds);
        close(fd);
    }
    fd_everything(-1);
    fd_everything(9999);
    fd_everything(AT_FDCWD);
}

static void nothing(void)
{
    for (unsigned i = 0; i < COUNT(path_names); i++) {
        TRY(path_names[i], 0, NULL, 0, stat_call, NULL, &out);
        TRY(path_names[i], 1, "a.bin", 0, stat_call, absolute_path("a.bin"), NULL);
        TRY(xpath_names[i], 1, "a.bin", 0, xstat_call, versions[0], "a.bin", NULL);
        TRY(at_names[i % 2], 1, "a.bin", 0, fstatat_call, AT_FDCWD, "a.bin", NULL, 0);
        TRY(fd_names[i % 2], 1, "", 0, fstat_call, 0, NULL);
    }
    try_statx(AT_FDCWD, NULL, 0, STATX_BASIC_STATS);
    statx_call *function = (statx_call *)symbol("statx");
    SHOW("statx(0, NULL, 0, ALL, NULL)", function(0, NULL, 0, STATX_ALL, NULL));
    SHOW("statx(a.bin, NULL)", function(AT_FDCWD, "a.bin", 0, STATX_BASIC_STATS, NULL));
}

static void directories(void)
{
    int sub = open("sub", O_RDONLY), link = open("dirlink", O_PATH), file = open("a.bin", O_RDONLY);
    at_everything(sub, "b.bin");
    at_everything(sub, "../a.bin");
    at_everything(link, "b.bin");
    at_everything(file, "b.bin");
    at_everything(-1, "b.bin");
    at_everything(-1, absolute_path("sub/b.bin"));
    statx_everything(sub, "b.bin");
    statx_everything(link, "b.bin");
    close(sub);
    close(link);
    close(file);
}

void body(void)
{
    learn_and_know();
    for (unsigned i = 0; i < interesting_count; i++) {
        path_everything(interesting_paths[i]);
        path_everything(absolute_path(interesting_paths[i]));
    }
    every_version("a.bin");
    every_version("link");
    descriptors();
    directories();
    nothing();
}
