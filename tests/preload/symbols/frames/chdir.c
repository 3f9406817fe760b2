/* chdir and fchdir, and all other ways in which the working directory moves. A relative path must
 * mean what it means to the kernel, whatever was remembered of the directory before. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Looks by the same names, which lead to other files, or none, from each directory. */
static void look(void)
{
    static const char *const names[] = {"a.bin",         "x",          "b.bin",       "./o.txt",
                                        "../data/a.bin", "data/a.bin", "inward/a.bin"};
    for (unsigned i = 0; i < COUNT(names); i++) {
        show_path(names[i]);
    }
}

static void by_path(int home)
{
    int (*function)(const char *) = (int (*)(const char *))symbol("chdir");
    static const char *const paths[] = {"sub",     ".",     "..",  "data/../other", "inward",
                                        "dirlink", "/",     "tmp", "missing",       "",
                                        "a.bin",   "../..", NULL};
    for (unsigned i = 0; i < COUNT(paths); i++) {
        SHOW(paths[i] ? paths[i] : "NULL", function(paths[i]));
        look();
    }
    SHOW("back", fchdir(home));
}

static void by_descriptor(int home)
{
    int (*function)(int) = (int (*)(int))symbol("fchdir");
    int fds[] = {open("sub", O_RDONLY),
                 open("../other", O_PATH),
                 open("move", O_RDONLY),
                 open("/", O_RDONLY),
                 open("a.bin", O_RDONLY),
                 -1,
                 9999,
                 home};
    for (unsigned i = 0; i < COUNT(fds); i++) {
        SHOW("fchdir", function(fds[i]));
        look();
    }
    for (unsigned i = 0; i < 5; i++) {
        close(fds[i]);
    }
}

/* Moves by system calls, which the library does not see. */
static void by_system_call(int home)
{
    SHOW("chdir", chdir("../data2"));
    look();
    SHOW("raw", syscall(SYS_fchdir, home));
    look();
    SHOW("raw", syscall(SYS_chdir, "../other"));
    look();
    SHOW("back", fchdir(home));
    look();
}

/* Into a view of the file system that does not exist. (Into others: tests/preload/paths.) */
static void views(void)
{
    int (*root)(const char *) = (int (*)(const char *))symbol("chroot");
    int (*pivot)(const char *, const char *) =
        (int (*)(const char *, const char *))symbol("pivot_root");
    int (*leave)(int) = (int (*)(int))symbol("unshare");
    int (*enter)(int, int) = (int (*)(int, int))symbol("setns");
    SHOW("chroot", root("missing"));
    SHOW("chroot", root("a.bin"));
    SHOW("pivot_root", pivot("missing", "missing"));
    SHOW("pivot_root", pivot(".", "a.bin"));
    SHOW("unshare", leave(0));
    SHOW("unshare", leave(1));
    SHOW("setns", enter(-1, 0));
    look();
}

static int end_with(void *status)
{
    _exit(*(int *)status);
}

/* By clone, with a view that cannot be had, and with its parent's. */
static void children(void)
{
    static char room[64 << 10] __attribute__((aligned(16)));
    int (*begin)(int (*)(void *), void *, int, void *, ...) =
        (int (*)(int (*)(void *), void *, int, void *, ...))symbol("clone");
    int status = 3;
    SHOW("clone", begin(NULL, room + sizeof room, SIGCHLD, NULL));
    SHOW("clone", begin(end_with, room + sizeof room, CLONE_NEWNS | CLONE_FS | SIGCHLD, &status));
    SHOW("clone", syscall(SYS_clone, CLONE_NEWNS | CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL));
    look();
    pid_t child = begin(end_with, room + sizeof room, SIGCHLD, &status);
    SHOW("clone", waitpid(child, &status, 0) == child ? status : -1);
    look();
}

/* A directory that moves takes those along that are in it. */
static void moved(int home)
{
    SHOW("chdir", chdir("../other"));
    look();
    SHOW("move below", rename("../other", "../data/elsewhere"));
    look();
    int fd = open("o.txt", O_RDWR);
    SHOW("write", write(fd, "moved", 5));
    close(fd);
    look();
    SHOW("back", fchdir(home));
    show_path("elsewhere/o.txt");
    SHOW("move back", rename("elsewhere", "../other"));
    SHOW("chdir", chdir("move"));
    look();
    SHOW("rename", rename("../move", "../moved"));
    look();
    SHOW("rename", rename("../moved", "../../moved"));
    look();
    SHOW("rename", rename("../moved", "../data/move"));
    SHOW("back", fchdir(home));
    look();
}

/* A thread may have a working directory of its own. */
static void *in_thread(void *unused)
{
    SHOW("unshare", unshare(CLONE_FS));
    SHOW("chdir", chdir("../other"));
    look();
    return unused;
}

static void in_others(int home)
{
    pthread_t thread;
    int status = -1;
    look();
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    look();
    pid_t child = vfork();
    if (child == 0) {
        struct stat stat_;
        int bad = chdir("../other") | stat("o.txt", &stat_) | (stat("a.bin", &stat_) == 0);
        _exit(bad != 0);
    }
    SHOW("vfork", waitpid(child, &status, 0) == child ? status : -1);
    look();
    SHOW("back", fchdir(home));
}

/* Writes by a relative name from far away: the file is known by its own name. */
static void written_from_afar(int home)
{
    unsigned number = pool_next();
    char path[64];
    snprintf(path, sizeof path, "inward/pool/%u", number);
    SHOW("chdir", chdir("../other"));
    int other = open(".", O_RDONLY | O_DIRECTORY);
    look();
    int fd = open(path, O_WRONLY);
    SHOW("write", write(fd, "from afar", 9));
    close(fd);
    fchdir(home);
    pool_look(number);
    number = pool_next();
    snprintf(path, sizeof path, "../data/pool/%u", number);
    SHOW("fchmodat", fchmodat(other, path, 0600, 0));
    SHOW("unlinkat", number % 2 == 0 ? 0 : unlinkat(other, path, 0));
    pool_look(number);
    close(other);
}

void body(void)
{
    int home = open(".", O_RDONLY | O_DIRECTORY);
    look();
    by_path(home);
    by_descriptor(home);
    by_system_call(home);
    views();
    children();
    moved(home);
    in_others(home);
    written_from_afar(home);
    close(home);
}
