/* Reading through open, open64, openat, openat64 and their fortified names. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

struct opener {
    const char *name;
    enum { PLAIN, AT, PLAIN_2, AT_2 } shape;
};

static const struct opener openers[] = {
    {"open", PLAIN},       {"open64", PLAIN},       {"openat", AT},       {"openat64", AT},
    {"__open_2", PLAIN_2}, {"__open64_2", PLAIN_2}, {"__openat_2", AT_2}, {"__openat64_2", AT_2},
};
#define OPENERS (sizeof openers / sizeof *openers)

static const int flag_sets[] = {
    O_RDONLY,
    O_RDONLY | O_CLOEXEC,
    O_RDONLY | O_NOFOLLOW,
    O_RDONLY | O_DIRECTORY,
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
    O_RDONLY | O_NONBLOCK,
    O_RDONLY | O_NOATIME,
    O_RDONLY | O_APPEND,
    O_RDONLY | O_NOCTTY | O_SYNC,
    O_RDONLY | O_EXCL,
    O_RDONLY | O_ASYNC,
    O_PATH,
    O_PATH | O_NOFOLLOW | O_CLOEXEC,
    O_PATH | O_RDWR,
    O_RDWR | O_DIRECTORY,
    O_WRONLY | O_DIRECTORY,
    0x40000000, /* an unknown flag */
};
#define FLAG_SETS (sizeof flag_sets / sizeof *flag_sets)

static int call(const struct opener *opener, int dirfd, const char *path, int flags)
{
    void *function = symbol(opener->name);
    switch (opener->shape) {
    case PLAIN:
        return ((int (*)(const char *, int, ...))function)(path, flags);
    case AT:
        return ((int (*)(int, const char *, int, ...))function)(dirfd, path, flags);
    case PLAIN_2:
        return ((int (*)(const char *, int))function)(path, flags);
    default:
        return ((int (*)(int, const char *, int))function)(dirfd, path, flags);
    }
}

static void try(const struct opener *opener, int dirfd, const char *path, int flags)
{
    char label[8192];
    snprintf(label, sizeof label, "%s(%d, %s, %o)", opener->name, dirfd, path ? path : "NULL",
             (unsigned)flags);
    errno = SENTINEL;
    int fd = call(opener, dirfd, path, flags);
    show_result(label, fd, errno);
    show_fd(fd);
    if (fd >= 0) {
        close(fd);
    }
}

/* Each symbol meets a file first that no call has asked for before: fills, then hits. */
static void fill_and_hit(void)
{
    for (unsigned i = 0; i < OPENERS; i++) {
        char path[64];
        snprintf(path, sizeof path, "own/%u", i);
        try(&openers[i], AT_FDCWD, absolute_path(path), O_RDONLY);
        try(&openers[i], AT_FDCWD, absolute_path(path), O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof path, "own/%u", i + 10);
        try(&openers[i], AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        try(&openers[i], AT_FDCWD, path, O_RDONLY);
    }
}

static void every_path(void)
{
    for (unsigned i = 0; i < interesting_count; i++) {
        for (unsigned j = 0; j < OPENERS; j++) {
            try(&openers[j], AT_FDCWD, interesting_paths[i], O_RDONLY);
            try(&openers[j], AT_FDCWD, absolute_path(interesting_paths[i]), O_RDONLY);
        }
    }
}

static void every_flag(void)
{
    static const char *const paths[] = {"a.bin",        "link",    "sub",           "dirlink",
                                        "missing",      "private", "dirlink/b.bin", "dangling",
                                        "sub/../a.bin", "a.bin/"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        for (unsigned j = 0; j < FLAG_SETS; j++) {
            for (unsigned k = 0; k < OPENERS; k++) {
                try(&openers[k], AT_FDCWD, absolute_path(paths[i]), flag_sets[j]);
            }
        }
    }
}

static void every_directory(void)
{
    int fds[] = {open(".", O_RDONLY | O_DIRECTORY),
                 open("sub", O_PATH),
                 open("dirlink", O_PATH),
                 open("../other", O_RDONLY),
                 open("a.bin", O_RDONLY),
                 open("fresh", O_RDONLY),
                 -1,
                 9999};
    static const char *const paths[] = {"a.bin", "./b.bin",      "b.bin", "../a.bin",
                                        "o.txt", "inward/a.bin", "",      ".hidden"};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        for (unsigned j = 0; j < sizeof paths / sizeof *paths; j++) {
            for (unsigned k = 0; k < OPENERS; k++) {
                try(&openers[k], fds[i], paths[j], O_RDONLY);
            }
        }
        try(&openers[2], fds[i], absolute_path("a.bin"), O_RDONLY);
        try(&openers[2], fds[i], NULL, O_RDONLY);
    }
    for (unsigned i = 0; i < 6; i++) {
        close(fds[i]);
    }
}

/* The lowest free number, whichever it is; and none left. */
static void numbers(void)
{
    struct rlimit limit;
    int held = open("a.bin", O_RDONLY);
    close(0);
    for (unsigned i = 0; i < OPENERS; i++) {
        char path[16];
        snprintf(path, sizeof path, "own/%u", i + 20);
        try(&openers[i], AT_FDCWD, path, O_RDONLY);
        try(&openers[i], AT_FDCWD, path, O_RDONLY);
    }
    open("/dev/null", O_RDONLY);
    getrlimit(RLIMIT_NOFILE, &limit);
    struct rlimit tight = {.rlim_cur = (rlim_t)held + 1, .rlim_max = limit.rlim_max};
    for (unsigned i = 0; i < 2; i++, tight.rlim_cur++) {
        setrlimit(RLIMIT_NOFILE, &tight); /* none left, then one */
        try(&openers[i], AT_FDCWD, absolute_path("a.bin"), O_RDONLY);
        try(&openers[i], AT_FDCWD, absolute_path("own/28"), O_RDONLY);
        try(&openers[i], AT_FDCWD, absolute_path("missing"), O_RDONLY);
        setrlimit(RLIMIT_NOFILE, &limit);
        try(&openers[i], AT_FDCWD, absolute_path("own/28"), O_RDONLY);
    }
    close(held);
}

/* Other uses that a program makes of a descriptor. */
static void share(void)
{
    char byte, path[64];
    int fd = open("a.bin", O_RDONLY);
    pid_t child = fork();
    if (child == 0) {
        _exit(read(fd, &byte, 1) == 1 ? 0 : 1);
    }
    waitpid(child, NULL, 0);
    SHOW("offset shared with a child", lseek(fd, 0, SEEK_CUR));
    SHOW("write", write(fd, "x", 1));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    try(&openers[0], AT_FDCWD, path, O_RDONLY);
    SHOW("dup2", dup2(fd, 40));
    show_fd(40);
    close(40);
    close(fd);
}

void body(void)
{
    fill_and_hit();
    every_path();
    every_flag();
    every_directory();
    try(&openers[0], AT_FDCWD, NULL, O_RDONLY);
    numbers();
    share();
}
