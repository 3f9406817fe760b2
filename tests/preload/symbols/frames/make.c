/* Names that are made, removed and renamed: a listing shows them at once, by every name that its
 * directory has. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(const char *path)
{
    char *names[256];
    size_t count = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && count < COUNT(names) && (entry = readdir(dir)) != NULL) {
        names[count++] = strdup(entry->d_name);
    }
    qsort(names, count, sizeof *names, compare);
    printf("  %s:", path);
    for (size_t i = 0; i < count; i++) {
        printf(" %s", names[i]);
        free(names[i]);
    }
    printf("\n");
    if (dir != NULL) {
        closedir(dir);
    }
}

/* Three times, so that the last finds what the second has left. */
static void look(void)
{
    for (int i = 0; i < 3; i++) {
        list("sub");
        list("dirlink");
        list(absolute_path("sub"));
        list("../other/inward/sub");
    }
    struct stat stat_;
    SHOW("links", stat("sub", &stat_) == 0 ? (long)stat_.st_nlink : -1);
}

#define STEP(call)                                                                                 \
    do {                                                                                           \
        SHOW(#call, call);                                                                         \
        look();                                                                                    \
    } while (0)

#define CALL(name, type, ...) (((int(*) type)symbol(name))(__VA_ARGS__))

static void make_directories(int sub)
{
    STEP(CALL("mkdir", (const char *, mode_t), "sub/one", 0755));
    STEP(CALL("mkdir", (const char *, mode_t), "dirlink/two/", 0755));
    STEP(CALL("mkdir", (const char *, mode_t), "sub/one", 0755));
    STEP(CALL("mkdirat", (int, const char *, mode_t), sub, "three", 0755));
    STEP(CALL("mkdirat", (int, const char *, mode_t), sub, "deep/../four", 0755));
    STEP(rmdir("sub/one"));
    STEP(unlinkat(sub, "two", AT_REMOVEDIR));
    STEP(rmdir("../other/inward/sub/three"));
    STEP(remove("dirlink/four"));
    STEP(CALL("mkdir", (const char *, mode_t), "missing/one", 0755));
}

static void make_links(int sub)
{
    STEP(CALL("symlink", (const char *, const char *), "deep", "sub/one"));
    STEP(CALL("symlinkat", (const char *, int, const char *), "deep", sub, "two"));
    STEP(link("a.bin", "dirlink/three"));
    STEP(unlink("sub/one"));
    STEP(unlink("sub/two"));
    STEP(unlink("sub/three"));
}

static void make_nodes(int sub)
{
    dev_t none = 0;
    STEP(CALL("mkfifo", (const char *, mode_t), "sub/one", 0644));
    STEP(CALL("mkfifoat", (int, const char *, mode_t), sub, "two", 0644));
    STEP(CALL("mknod", (const char *, mode_t, dev_t), "sub/three", S_IFREG | 0644, none));
    STEP(CALL("mknodat", (int, const char *, mode_t, dev_t), sub, "four", S_IFREG | 0644, none));
    STEP(CALL("__xmknod", (int, const char *, mode_t, dev_t *), 0, "sub/five", S_IFREG | 0644,
              &none));
    STEP(CALL("__xmknodat", (int, int, const char *, mode_t, dev_t *), 0, sub, "six",
              S_IFREG | 0644, &none));
    const char *const names[] = {"one", "two", "three", "four", "five", "six"};
    for (unsigned i = 0; i < COUNT(names); i++) {
        STEP(unlinkat(sub, names[i], 0));
    }
}

static int make_file(const char *path, int flags)
{
    int fd = open(path, flags, 0644);
    return fd >= 0 ? close(fd) : -1;
}

static int make_stream(const char *path)
{
    FILE *file = fopen(path, "w");
    return file != NULL ? fclose(file) : -1;
}

static void make_files(int home)
{
    STEP(make_file("sub/one", O_CREAT | O_WRONLY));
    STEP(make_file("dirlink/two", O_CREAT | O_RDONLY));
    STEP(make_stream("sub/three"));
    STEP(close(creat("../other/inward/sub/four", 0644)));
    STEP(rename("sub/one", "sub/first"));
    STEP(rename("sub/first", "first"));
    STEP(rename("first", "dirlink/one"));
    STEP(chdir("sub"));
    SHOW("in it", make_file("five", O_CREAT | O_WRONLY));
    SHOW("back", fchdir(home));
    look();
    const char *const names[] = {"sub/one", "sub/two", "sub/three", "sub/four", "sub/five"};
    for (unsigned i = 0; i < COUNT(names); i++) {
        STEP(unlink(names[i]));
    }
}

/* An open directory, read again from its start. */
static void rewound(void)
{
    DIR *dir = opendir("sub");
    for (int i = 0; i < 3; i++) {
        unsigned count = 0;
        while (readdir(dir) != NULL) {
            count++;
        }
        printf("%u names\n", count);
        SHOW("make", i < 2 ? make_file(i == 0 ? "sub/one" : "sub/two", O_CREAT | O_WRONLY) : 0);
        rewinddir(dir);
    }
    closedir(dir);
    STEP(unlink("sub/one"));
    STEP(unlink("sub/two"));
}

/* The whole directory goes elsewhere, and another takes its place. */
static void moved(void)
{
    STEP(rename("sub", "away"));
    STEP(mkdir("sub", 0755));
    STEP(rmdir("sub"));
    STEP(rename("away", "sub"));
    STEP(chmod("sub", 0700));
}

void body(void)
{
    int home = open(".", O_RDONLY | O_DIRECTORY);
    int sub = open("sub", O_RDONLY | O_DIRECTORY);
    pool_look(pool_next());
    look();
    make_directories(sub);
    make_links(sub);
    make_nodes(sub);
    make_files(home);
    rewound();
    moved();
    close(sub);
    close(home);
}
