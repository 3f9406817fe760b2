/*
 * subject PART BASE: one way in which programs use their files below BASE/data; prints what every
 * call returned. Whatever happens to the library's own calls, it must print the same.
 *
 * The parts are short, since each is run once for every call that the library makes in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/show.h"

extern char **environ;

static char base[2048];

/* "BASE/data/NAME", good until the eighth call after this. */
static const char *in_data(const char *name)
{
    static char paths[8][4096];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/data/%s", base, name);
    return path;
}

/* stat, content, and what a descriptor says, once. */
static void look(const char *path)
{
    struct stat stat_;
    SHOW(path, stat(path, &stat_));
    if (errno == SENTINEL) {
        show_stat(&stat_);
    }
    errno = SENTINEL;
    int fd = open(path, O_RDONLY);
    show_result("  open", fd, errno);
    show_fd(fd);
    if (fd >= 0) {
        close(fd);
    }
}

static void show_stream(FILE *file)
{
    show_result("  stream", file != NULL, errno);
    if (file != NULL) {
        show_fd(fileno(file));
        SHOW("  fclose", fclose(file));
    }
}

/* ---- reading ---- */

static void part_open(void)
{
    show_path(in_data("small"));
    look(in_data("large"));
    int directory = open(in_data("sub"), O_RDONLY | O_DIRECTORY);
    SHOW("openat", openat(directory, "inner", O_RDONLY | O_CLOEXEC));
    show_fd(directory + 1);
    SHOW("openat again", openat(directory, "inner", O_RDONLY));
    show_fd(directory + 2);
    look(in_data("missing"));
    look(in_data("link"));
    look("small");
}

static void part_stdio(void)
{
    errno = SENTINEL;
    show_stream(fopen(in_data("small"), "r"));
    errno = SENTINEL;
    show_stream(fopen(in_data("small"), "re"));
    FILE *file = fopen("/dev/null", "r");
    errno = SENTINEL;
    show_stream(freopen(in_data("large"), "r", file));
    file = fopen("/dev/null", "r");
    errno = SENTINEL;
    show_stream(freopen(in_data("large"), "rb", file));
    errno = SENTINEL;
    show_stream(fopen(in_data("missing"), "r"));
}

static void show_stat_result(const char *label, int result, const struct stat *stat_)
{
    show_result(label, result, errno);
    if (result == 0) {
        show_stat(stat_);
    }
}

static void part_stat(void)
{
    static const char *const names[] = {"small", "link", "sub", "missing", "large"};
    struct stat stat_;
    struct statx statx_;
    for (unsigned i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        const char *name = names[i / 2], *path = in_data(name);
        errno = SENTINEL;
        show_stat_result(path, stat(path, &stat_), &stat_);
        errno = SENTINEL;
        show_stat_result("  lstat", lstat(path, &stat_), &stat_);
        errno = SENTINEL;
        show_stat_result("  fstatat", fstatat(AT_FDCWD, name, &stat_, 0), &stat_);
        memset(&statx_, 0, sizeof statx_);
        SHOW("  statx", statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &statx_));
        show_statx(&statx_, STATX_BASIC_STATS);
        SHOW("  access", access(path, R_OK));
        SHOW("  faccessat", faccessat(AT_FDCWD, name, F_OK, 0));
        SHOW("  W_OK", access(path, W_OK));
    }
}

/* Shows and tries a descriptor of an entry. */
static void part_descriptor(void)
{
    char path[64];
    struct stat stat_;
    const struct timespec times[2] = {{1000000000, 1}, {1000000000, 2}};
    int fd = open(in_data("small"), O_RDONLY);
    show_fd(fd);
    SHOW("fchmod", fchmod(fd, 0640));
    errno = SENTINEL;
    show_stat_result("fstat", fstat(fd, &stat_), &stat_);
    SHOW("futimens", futimens(fd, times));
    SHOW("fgetxattr", fgetxattr(fd, "user.none", NULL, 0));
    look(in_data("small"));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    errno = SENTINEL;
    show_stat_result("through /proc", stat(path, &stat_), &stat_);
    SHOW("for writing", open(path, O_WRONLY));
    SHOW("write", write(fd + 1, "through", 7));
    close(fd + 1);
    close(fd);
    look(in_data("small"));
}

/* Shows everything there is, for a later process. */
static void part_look(void)
{
    static const char *const names[] = {"small", "large", "other",      "sub/inner",
                                        "link",  "new",   "moved/inner"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        show_path(in_data(names[i]));
    }
}

/* ---- directories ---- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show_names(DIR *dir)
{
    char *names[64];
    size_t count = 0;
    const struct dirent *entry;
    errno = SENTINEL;
    while (dir != NULL && (entry = readdir(dir)) != NULL && count < 64) {
        names[count++] = strdup(entry->d_name);
    }
    show_result("  names", (long)count, errno);
    qsort(names, count, sizeof *names, compare);
    for (size_t i = 0; i < count; i++) {
        printf("  %s\n", names[i]);
        free(names[i]);
    }
}

/* By its path, again from the start, by its number, and by scandir. */
static void list(const char *path)
{
    struct dirent **names = NULL;
    struct stat stat_;
    DIR *dir = opendir(path);
    SHOW(path, dir != NULL);
    show_names(dir);
    if (dir != NULL) {
        SHOW("  dirfd", fstat(dirfd(dir), &stat_));
        rewinddir(dir);
        show_names(dir);
        SHOW("  closedir", closedir(dir));
    }
    dir = fdopendir(open(path, O_RDONLY | O_DIRECTORY));
    show_names(dir);
    SHOW("  closedir", dir != NULL ? closedir(dir) : 1);
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        printf("  %s\n", names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static void part_list(void)
{
    list(in_data("sub"));
    list(in_data("sub/"));
    list(in_data("."));
    list(in_data("missing"));
    SHOW("mkdir", mkdir(in_data("sub/made"), 0700));
    list(in_data("sub"));
    SHOW("open", close(open(in_data("sub/made/file"), O_CREAT | O_WRONLY, 0600)));
    list(in_data("sub/made"));
    SHOW("rename", rename(in_data("sub/made/file"), in_data("sub/file")));
    list(in_data("sub"));
    list(in_data("sub/made"));
    SHOW("unlink", unlink(in_data("sub/file")));
    SHOW("rmdir", rmdir(in_data("sub/made")));
    list("sub");
}

/* ---- changing ---- */

static void put(const char *path, int flags)
{
    errno = SENTINEL;
    int fd = open(path, flags, 0644);
    show_result(path, fd, errno);
    if (fd >= 0) {
        SHOW("  write", write(fd, "written by the subject", 22));
        SHOW("  close", close(fd));
    }
}

static void part_write(void)
{
    look(in_data("small"));
    put(in_data("small"), O_WRONLY);
    look(in_data("small"));
    put(in_data("large"), O_RDWR | O_TRUNC);
    look(in_data("large"));
    look(in_data("large"));
    put("sub/../sub/inner", O_WRONLY | O_APPEND);
    look(in_data("sub/inner"));
    SHOW("creat", close(creat(in_data("other"), 0600)));
    look(in_data("other"));
    put(in_data("new"), O_WRONLY | O_CREAT | O_EXCL);
    look(in_data("new"));
    put(in_data("new"), O_WRONLY | O_CREAT | O_EXCL);
    put(in_data("sub"), O_WRONLY);
}

static void part_streams(void)
{
    look(in_data("small"));
    FILE *file = fopen(in_data("small"), "r+");
    SHOW("fputs", file != NULL && fputs("streamed", file) >= 0);
    SHOW("fclose", file != NULL && fclose(file) == 0);
    look(in_data("small"));
    file = freopen(in_data("large"), "w", fopen("/dev/null", "r"));
    SHOW("fputs", file != NULL && fputs("anew", file) >= 0);
    SHOW("fclose", file != NULL && fclose(file) == 0);
    look(in_data("large"));
    SHOW("truncate", truncate(in_data("other"), 10));
    look(in_data("other"));
}

static void part_names(void)
{
    look(in_data("small"));
    look(in_data("other"));
    SHOW("rename", rename(in_data("other"), in_data("small")));
    look(in_data("small"));
    look(in_data("other"));
    SHOW("unlink", unlink(in_data("small")));
    look(in_data("small"));
    SHOW("link", link(in_data("large"), in_data("small")));
    look(in_data("small"));
    SHOW("rename directory", rename(in_data("sub"), in_data("moved")));
    look(in_data("sub/inner"));
    look(in_data("moved/inner"));
    SHOW("unlinkat", unlinkat(AT_FDCWD, "moved/inner", 0));
    look(in_data("moved/inner"));
    SHOW("rmdir", rmdir(in_data("moved")));
    SHOW("rename missing", rename(in_data("missing"), in_data("small")));
}

static void part_metadata(void)
{
    const struct timespec times[2] = {{1000000000, 1}, {1000000000, 2}};
    look(in_data("small"));
    SHOW("chmod", chmod(in_data("small"), 0600));
    look(in_data("small"));
    SHOW("utimensat", utimensat(AT_FDCWD, "small", times, 0));
    look(in_data("small"));
    SHOW("chown", chown(in_data("small"), 1, 1));
    look(in_data("small"));
    SHOW("setxattr", setxattr(in_data("missing"), "user.x", "x", 1, 0));
    SHOW("chmod missing", chmod(in_data("missing"), 0600));
    SHOW("truncate directory", truncate(in_data("sub"), 1));
}

/* ---- pointers ---- */

/* Pointers that lead nowhere: the kernel says EFAULT, and so it must stay. */
static void part_pointers(void)
{
    struct stat stat_;
    struct statx statx_;
    const uintptr_t values[] = {0, 8, 4095, UINTPTR_MAX, UINTPTR_MAX - 4095 + 1};
    look(in_data("small"));
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        const char *path;
        memcpy(&path, &values[i], sizeof path); /* the compiler need not know */
        SHOW("open", open(path, O_RDONLY));
        SHOW("open for writing", open(path, O_WRONLY | O_CREAT, 0600));
        SHOW("openat", openat(AT_FDCWD, path, O_RDONLY));
        SHOW("fopen", fopen(path, "r") != NULL);
        SHOW("fopen for writing", fopen(path, "w") != NULL);
        SHOW("stat", stat(path, &stat_));
        SHOW("lstat", lstat(path, &stat_));
        SHOW("fstatat", fstatat(AT_FDCWD, path, &stat_, AT_EMPTY_PATH) == 0);
        SHOW("statx", statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &statx_));
        SHOW("access", access(path, R_OK));
        SHOW("rename", rename(path, in_data("x")));
        SHOW("rename to", rename(in_data("small"), path));
        SHOW("unlink", unlink(path));
        SHOW("truncate", truncate(path, 0));
        SHOW("chmod", chmod(path, 0600));
        SHOW("utimensat", i == 0 ? 0 : utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW));
    }
    look(in_data("small"));
}

/* ---- children ---- */

static void wait_for(pid_t child)
{
    int status = -1;
    SHOW("child", waitpid(child, &status, 0) == child);
    printf("  status %x\n", (unsigned)status);
    fflush(stdout);
}

static void part_children(void)
{
    int fd = open(in_data("small"), O_RDONLY | O_CLOEXEC);
    look(in_data("small"));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        look(in_data("small"));
        look(in_data("large"));
        fflush(stdout);
        _exit(0);
    }
    wait_for(child);
    char cat[] = "cat", *small = strdup(in_data("small")), *large = strdup(in_data("large"));
    char *const arguments[] = {cat, small, large, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, in_data("small"), O_RDONLY, 0);
    SHOW("spawn", posix_spawnp(&child, "cat", &actions, NULL, arguments, environ));
    wait_for(child);
    child = vfork();
    if (child == 0) {
        execlp("wc", "wc", "-c", small, NULL);
        _exit(127);
    }
    wait_for(child);
    show_fd(fd);
}

/* ---- */

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"look", part_look},
    {"open", part_open},
    {"stdio", part_stdio},
    {"stat", part_stat},
    {"descriptor", part_descriptor},
    {"write", part_write},
    {"streams", part_streams},
    {"names", part_names},
    {"metadata", part_metadata},
    {"pointers", part_pointers},
    {"list", part_list},
    {"children", part_children},
};

/* A run begins at the clock tick after its first process; what is known before is asked again. Past
 * that, the library makes the same calls every time. */
static void let_the_run_begin(void)
{
    const struct timespec nap = {0, 15000000};
    nanosleep(&nap, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[2]) != 0 || chdir("data") != 0) {
        fprintf(stderr, "usage: %s PART BASE\n", argv[0]);
        return 2;
    }
    snprintf(base, sizeof base, "%s", argv[2]);
    umask(022);
    if (strcmp(argv[1], "look") != 0) {
        let_the_run_begin();
    }
    show_begin(base);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            show_end();
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    return 2;
}
