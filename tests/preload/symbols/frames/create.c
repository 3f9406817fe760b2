/* Opening for writing, creating and truncating: by open's names, creat's and stdio's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const plain_names[] = {"open", "open64"};
static const char *const at_names[] = {"openat", "openat64"};
static const char *const plain_2_names[] = {"__open_2", "__open64_2"};
static const char *const at_2_names[] = {"__openat_2", "__openat64_2"};
static const char *const creat_names[] = {"creat", "creat64"};
static const char *const fopen_names[] = {"fopen", "fopen64"};
static const char *const freopen_names[] = {"freopen", "freopen64"};

static int call(const char *name, const char *path, int flags, mode_t mode)
{
    void *function = symbol(name);
    if (strncmp(name, "creat", 5) == 0) {
        return ((int (*)(const char *, mode_t))function)(path, mode);
    }
    bool is_at = strncmp(name + strspn(name, "_"), "openat", 6) == 0;
    if (strstr(name, "_2") != NULL) {
        return is_at ? ((int (*)(int, const char *, int))function)(AT_FDCWD, path, flags)
                     : ((int (*)(const char *, int))function)(path, flags);
    }
    return is_at ? ((int (*)(int, const char *, int, ...))function)(AT_FDCWD, path, flags, mode)
                 : ((int (*)(const char *, int, ...))function)(path, flags, mode);
}

/* Opens once, writes a few bytes if that is allowed, and looks through the descriptor. A file
 * without a name stays open, so that its inode number is not given to the next. */
static void try(const char *name, const char *path, int flags, mode_t mode)
{
    char label[8192];
    snprintf(label, sizeof label, "%s(%s, %o, %o)", name, path, (unsigned)flags, mode);
    errno = SENTINEL;
    int fd = call(name, path, flags, mode);
    show_result(label, fd, errno);
    if (fd >= 0) {
        show_fd(fd);
        SHOW("  write", write(fd, "written", 7));
        if ((flags & O_TMPFILE) != O_TMPFILE) {
            close(fd);
        }
    }
}

/* Writing to a known file by each of its names: seen by all of them. */
static void write_by_every_name(const char *name, int flags, mode_t mode)
{
    static const char *const ways[] = {"pool",   "poollink",        "sym", "hard", "sub/../pool",
                                       "./pool", "poollink/../pool"};
    for (unsigned i = 0; i < COUNT(ways); i++) {
        unsigned number = pool_next();
        try(name, pool_path(ways[i], number), flags, mode);
        pool_look(number);
    }
}

static void every_opener(void)
{
    write_by_every_name("open", O_WRONLY, 0);
    for (unsigned i = 0; i < 2; i++) {
        const char *both[] = {plain_names[i], at_names[i]};
        for (unsigned j = 0; j < 2; j++) {
            write_by_every_name(both[j], O_RDWR | O_CREAT, 0640);
            unsigned number = pool_next();
            try(both[j], pool_path("pool", number), O_WRONLY | O_CREAT | O_EXCL, 0600);
            pool_look(number);
            try(both[j], pool_path("pool", number), O_RDONLY | O_TRUNC, 0);
            pool_look(number);
        }
        const char *fortified[] = {plain_2_names[i], at_2_names[i]};
        for (unsigned j = 0; j < 2; j++) {
            unsigned number = pool_next();
            try(fortified[j], pool_path("pool", number), O_WRONLY | O_APPEND, 0);
            pool_look(number);
        }
        write_by_every_name(creat_names[i], 0, 0604);
    }
}

/* A call that fails must leave no mark that shows, and a call that creates must be seen. */
static void odd_targets(const char *name)
{
    static const struct {
        const char *path;
        int flags;
    } cases[] = {
        {"sub", O_WRONLY},
        {"sub", O_RDONLY | O_CREAT},
        {"sub/", O_RDWR | O_CREAT},
        {"a.bin/", O_WRONLY | O_CREAT},
        {"missing/x", O_WRONLY | O_CREAT},
        {"link", O_WRONLY | O_NOFOLLOW},
        {"link", O_RDWR | O_CREAT | O_EXCL},
        {"loop", O_WRONLY},
        {"dangling", O_WRONLY},
        {"dangling", O_WRONLY | O_CREAT | O_EXCL},
        {"dangling", O_WRONLY | O_CREAT},
        {"nowhere", O_RDONLY},
        {"sub", O_TMPFILE | O_RDWR},
        {"sub", O_TMPFILE | O_RDONLY},
        {"a.bin", O_TMPFILE | O_RDWR},
        {"a.bin", O_ACCMODE},
        {"a.bin", O_PATH | O_CREAT | O_TRUNC},
        {"a.bin", O_WRONLY | O_DIRECTORY},
        {"brandnew", O_RDONLY | O_CREAT},
        {"brandnew", O_RDONLY},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        show_path(cases[i].path);
        try(name, cases[i].path, cases[i].flags, 0644);
        show_path(cases[i].path);
    }
    pool_pin("brandnew");
    pool_pin("nowhere");
    unlink("brandnew");
    unlink("nowhere");
}

static void write_stream(FILE *file)
{
    if (file != NULL) {
        printf("  fd %d flags %o at %ld\n", fileno(file), fcntl(fileno(file), F_GETFL),
               ftell(file));
        printf("  put %d", fputs("streamed", file));
        printf(" close %d\n", fclose(file));
    }
}

static void every_stream(void)
{
    static const char *const modes[] = {"w", "a", "r+", "w+e", "a+", "wx", "rb+", "rw"};
    for (unsigned i = 0; i < COUNT(modes); i++) {
        unsigned number = pool_next();
        const char *path = pool_path("pool", number);
        FILE *(*opener)(const char *, const char *) =
            (FILE * (*)(const char *, const char *)) symbol(fopen_names[i % 2]);
        errno = SENTINEL;
        FILE *file = opener(path, modes[i]);
        show_result(modes[i], file != NULL, errno);
        write_stream(file);
        pool_look(number);
        number = pool_next();
        FILE *(*reopener)(const char *, const char *, FILE *) =
            (FILE * (*)(const char *, const char *, FILE *)) symbol(freopen_names[i % 2]);
        file = fopen("a.bin", "r");
        errno = SENTINEL;
        file = reopener(pool_path("pool", number), modes[i], file);
        show_result(modes[i], file != NULL, errno);
        write_stream(file);
        pool_look(number);
    }
}

/* A descriptor that is open for writing goes on writing after others have read. */
static void late_write(void)
{
    unsigned number = pool_next();
    int fd = open(pool_path("pool", number), O_RDWR);
    pool_look(number);
    SHOW("late pwrite", pwrite(fd, "late", 4, 100));
    pool_look(number);
    SHOW("later pwrite", pwrite(fd, "later", 5, 200));
    close(fd);
    pool_look(number);
}

/* A file opened for reading and opened again for writing through /proc: the file is written, not
 * what stands for it. */
static void reopen_for_writing(void)
{
    static const char *const ways[] = {"/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d"};
    for (unsigned i = 0; i < COUNT(ways); i++) {
        char path[64];
        unsigned number = pool_next();
        int fd = open(pool_path("pool", number), O_RDONLY);
        snprintf(path, sizeof path, ways[i], fd);
        SHOW("O_RDWR", call("open", path, O_RDWR, 0));
        try("openat", path, O_WRONLY | O_APPEND, 0);
        write_stream(fopen(path, "r+"));
        pool_look(number);
        close(fd);
        close(fd + 1);
    }
    unsigned number = pool_next();
    FILE *file = fopen(pool_path("pool", number), "r");
    file = freopen(NULL, "r+", file);
    SHOW("freopen(NULL)", file != NULL);
    write_stream(file);
    pool_look(number);
}

/* Relative paths and descriptors of directories, with "..". */
static void from_elsewhere(void)
{
    unsigned number = pool_next();
    char path[64];
    int sub = open("sub", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "../pool/%u", number);
    int fd = openat(sub, path, O_WRONLY);
    SHOW("through ..", write(fd, "parent", 6));
    close(fd);
    pool_look(number);
    number = pool_next();
    int pool = open("../other/inward/pool", O_PATH);
    snprintf(path, sizeof path, "%u", number);
    fd = openat(pool, path, O_WRONLY | O_TRUNC);
    SHOW("through a directory", write(fd, "there", 5));
    pool_look(number);
    close(fd);
    close(pool);
    close(sub);
}

void body(void)
{
    every_opener();
    odd_targets("open");
    odd_targets("openat64");
    every_stream();
    late_write();
    from_elsewhere();
    reopen_for_writing();
}
