/* Reads directories by opendir and all that takes its DIR, by scandir, and by the functions for
 * which libc lists. The records are the same, in the same order, from the first look and from the
 * second. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct dirent *reader(DIR *);
typedef int copier(DIR *, struct dirent *, struct dirent **);

static DIR *open_named(const char *path)
{
    DIR *(*function)(const char *) = (DIR * (*)(const char *)) symbol("opendir");
    errno = SENTINEL;
    DIR *dir = function(path);
    show_result(path, dir != NULL, errno);
    return dir;
}

static void close_dir(DIR *dir)
{
    int (*function)(DIR *) = (int (*)(DIR *))symbol("closedir");
    SHOW("closedir", function(dir));
}

static long tell(DIR *dir)
{
    return ((long (*)(DIR *))symbol("telldir"))(dir);
}

static void show_entry(const struct dirent *entry)
{
    printf("  %s %lu %ld %u %u\n", entry->d_name, (unsigned long)entry->d_ino, (long)entry->d_off,
           entry->d_reclen, entry->d_type);
}

static void show_all(DIR *dir, const char *name)
{
    reader *next = (reader *)symbol(name);
    const struct dirent *entry;
    errno = SENTINEL;
    while ((entry = next(dir)) != NULL) {
        show_entry(entry);
        printf("  at %ld\n", tell(dir));
    }
    show_result(name, 0, errno);
}

static void show_copies(DIR *dir, const char *name)
{
    copier *next = (copier *)symbol(name);
    struct dirent entry, *result;
    int error;
    while ((error = next(dir, &entry, &result)) == 0 && result != NULL) {
        show_entry(result);
    }
    show_result(name, error, 0);
}

/* From the start again, from each place, and beyond the end. */
static void move_about(DIR *dir)
{
    reader *next = (reader *)symbol("readdir");
    void (*seek)(DIR *, long) = (void (*)(DIR *, long))symbol("seekdir");
    void (*to_start)(DIR *) = (void (*)(DIR *))symbol("rewinddir");
    long places[64];
    unsigned count = 0;
    to_start(dir);
    do {
        places[count++] = tell(dir);
    } while (count < COUNT(places) && next(dir) != NULL);
    for (unsigned i = count; i-- > 0;) {
        seek(dir, places[i]);
        const struct dirent *entry = next(dir);
        printf("from %ld: %s, then %ld\n", places[i], entry != NULL ? entry->d_name : "end",
               tell(dir));
    }
    to_start(dir);
    show_all(dir, "readdir");
}

/* The directory itself, by its descriptor. */
static void show_descriptor(DIR *dir)
{
    int (*function)(DIR *) = (int (*)(DIR *))symbol("dirfd");
    struct stat stat;
    int fd = function(dir);
    SHOW("dirfd", fd >= 0);
    SHOW("the same", fd == function(dir));
    SHOW("flags", fcntl(fd, F_GETFD));
    SHOW("fstat", fstat(fd, &stat));
    printf("%lu %o\n", (unsigned long)stat.st_ino, stat.st_mode);
    SHOW("in it", fstatat(fd, "deep", &stat, 0));
}

static void by_path(const char *path)
{
    static const char *const readers[] = {"readdir", "readdir64"};
    static const char *const copiers[] = {"readdir_r", "readdir64_r"};
    for (unsigned i = 0; i < 2; i++) {
        DIR *dir = open_named(path);
        if (dir == NULL) {
            return;
        }
        show_all(dir, readers[i]);
        show_all(dir, readers[i]); /* it stays at the end */
        close_dir(dir);
        dir = open_named(path);
        show_copies(dir, copiers[i]);
        move_about(dir);
        show_descriptor(dir);
        move_about(dir);
        close_dir(dir);
    }
}

/* By a descriptor, which may have been read from before. */
static void by_descriptor(const char *path, int flags, int before)
{
    DIR *(*function)(int) = (DIR * (*)(int)) symbol("fdopendir");
    char buffer[64];
    int fd = open(path, flags);
    int again = dup(fd);
    if (before != 0) {
        SHOW("seek", lseek(fd, 0, SEEK_END) > 0);
    }
    errno = SENTINEL;
    DIR *dir = function(fd);
    snprintf(buffer, sizeof buffer, "fdopendir %s %o", path, flags);
    show_result(buffer, dir != NULL, errno);
    if (dir == NULL) {
        close(fd);
    } else {
        SHOW("number", ((int (*)(DIR *))symbol("dirfd"))(dir) == fd);
        show_all(dir, "readdir");
        move_about(dir);
        show_descriptor(dir);
        close_dir(dir);
    }
    SHOW("closed", fcntl(fd, F_GETFD));
    close(again);
}

/* Reads through descriptors that share an offset. Names that libc has read for one are gone for the
 * rest, until a reader goes back to the start. */
static void by_shared(const char *path)
{
    DIR *(*function)(int) = (DIR * (*)(int)) symbol("fdopendir");
    reader *next = (reader *)symbol("readdir");
    void (*to_start)(DIR *) = (void (*)(DIR *))symbol("rewinddir");
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < 3; i++) {
        DIR *one = function(dup(fd)), *other = function(dup(fd));
        SHOW("nothing read", (int)lseek(fd, 0, SEEK_CUR));
        SHOW("one", next(one) != NULL);
        SHOW("moved", lseek(fd, 0, SEEK_CUR) != 0);
        show_all(other, "readdir");
        show_all(one, "readdir");
        to_start(i == 0 ? one : other);
        SHOW("back", (int)lseek(fd, 0, SEEK_CUR));
        show_all(other, "readdir");
        close_dir(one);
        lseek(fd, 0, i == 1 ? SEEK_CUR : SEEK_SET);
        close_dir(other);
    }
    close(fd);
}

/* ---- scandir ---- */

typedef int filter_call(const struct dirent *);
typedef int order_call(const struct dirent **, const struct dirent **);

static int is_wanted(const struct dirent *entry)
{
    return strchr(entry->d_name, 'b') != NULL;
}

static int none_is_wanted(const struct dirent *entry)
{
    return entry->d_ino == 0;
}

static int backwards(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

static void show_scanned(const char *name, bool is_at, int at, const char *path,
                         filter_call *filter, order_call *order)
{
    char label[8192];
    struct dirent **names = NULL;
    void *function = symbol(name);
    errno = SENTINEL;
    int count = is_at ? ((int (*)(int, const char *, struct dirent ***, filter_call *,
                                  order_call *))function)(at, path, &names, filter, order)
                      : ((int (*)(const char *, struct dirent ***, filter_call *,
                                  order_call *))function)(path, &names, filter, order);
    snprintf(label, sizeof label, "%s %s", name, path);
    show_result(label, count, errno);
    for (int i = 0; i < count; i++) {
        show_entry(names[i]);
        free(names[i]);
    }
    free(names);
}

static void scan(const char *path)
{
    static const char *const plain[] = {"scandir", "scandir64"};
    static const char *const at[] = {"scandirat", "scandirat64"};
    static filter_call *const filters[] = {NULL, is_wanted, none_is_wanted};
    static order_call *const orders[] = {NULL, alphasort, backwards};
    int sub = open("sub", O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < COUNT(filters); i++) {
        for (unsigned j = 0; j < 2; j++) {
            show_scanned(plain[j], false, 0, path, filters[i], orders[i]);
            show_scanned(at[j], true, AT_FDCWD, path, filters[i], orders[i]);
            show_scanned(at[j], true, sub, "deep", filters[i], orders[i]);
            show_scanned(at[j], true, sub, ".", filters[i], orders[i]);
        }
    }
    close(sub);
}

/* ---- getdents64 ---- */

typedef ssize_t getter(int, void *, size_t);

static void show_records(int fd, size_t room)
{
    getter *next = (getter *)symbol("getdents64");
    char buffer[4096] __attribute__((aligned(8)));
    ssize_t got;
    do {
        errno = SENTINEL;
        got = next(fd, buffer, room);
        show_result("getdents64", got, errno);
        for (ssize_t at = 0; at < got;) {
            const struct dirent *entry = (const struct dirent *)(const void *)(buffer + at);
            show_entry(entry);
            at += entry->d_reclen;
        }
        printf("  at %ld\n", (long)lseek(fd, 0, SEEK_CUR));
    } while (got > 0);
}

static void by_number(const char *path)
{
    static const size_t rooms[] = {4096, 64, 32, 10, 0};
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < COUNT(rooms); i++) {
        show_records(fd, rooms[i]);
        SHOW("to the start", lseek(fd, 0, SEEK_SET));
    }
    show_records(fd, 32);
    int again = dup(fd); /* which is at the end, too */
    show_records(again, 4096);
    close(again);
    close(fd);
    errno = SENTINEL;
    ssize_t got = ((getter *)symbol("getdents64"))(fd, NULL, 100);
    show_result("closed", got, errno);
}

/* Many at once: more than the library has of its own. */
static void many(void)
{
    static DIR *dirs[400];
    reader *next = (reader *)symbol("readdir");
    for (unsigned i = 0; i < COUNT(dirs); i++) {
        dirs[i] = opendir(i % 2 == 0 ? "sub" : absolute_path("sub/deep"));
    }
    for (unsigned i = 0; i < COUNT(dirs); i++) {
        unsigned count = 0;
        while (dirs[i] != NULL && next(dirs[i]) != NULL) {
            count++;
        }
        printf(" %u", count);
    }
    printf("\n");
    for (unsigned i = 0; i < COUNT(dirs); i++) {
        if (dirs[i] != NULL) {
            closedir(dirs[i]);
        }
    }
}

/* ---- what libc lists for itself ---- */

static int show_walked(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    printf("  %s %o %d %d\n", path, stat->st_mode, type, where->level);
    return 0;
}

static void show_globbed(const char *pattern)
{
    glob_t found;
    SHOW(pattern, glob(pattern, GLOB_NOSORT, NULL, &found));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        printf("  %s\n", found.gl_pathv[i]);
    }
    globfree(&found);
}

static void show_tree(char *path)
{
    char *const paths[] = {path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL, NULL);
    const FTSENT *entry;
    while ((entry = fts_read(tree)) != NULL) {
        printf("  %s %u %d\n", entry->fts_path, entry->fts_info, entry->fts_level);
    }
    fts_close(tree);
}

void body(void)
{
    by_shared("sub/deep");
    static const char *const paths[] = {"sub",      ".",        "sub/",        "./sub//deep/.",
                                        "move",     "dirlink",  "dirlink/",    "outwarddir",
                                        "../other", "sub/..",   "missing",     "a.bin",
                                        "loop",     "dangling", "../data/sub", "",
                                        "turn",     "fresh",    "a.bin/x",     "../other/inward"};
    for (unsigned i = 0; i < COUNT(paths); i++) {
        by_path(paths[i]);
        by_path(absolute_path(paths[i]));
        scan(paths[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        by_descriptor("sub", O_RDONLY, 0);
        by_descriptor("sub/deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        by_descriptor("move", O_RDONLY, 1);
        by_descriptor("sub", O_PATH, 0);
        by_descriptor("a.bin", O_RDONLY, 0);
        by_descriptor("missing", O_RDONLY, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        by_number("sub");
        by_number(absolute_path("sub/deep"));
        by_number("../other");
    }
    many();
    SHOW("nftw", nftw(absolute_path("sub"), show_walked, 8, FTW_PHYS));
    show_globbed("sub/*");
    show_globbed("*/deep/*.bin");
    show_tree((char *)(uintptr_t)absolute_path("sub"));
}
