/* A program's questions about a descriptor itself: its locks, its file system, its flags, its name.
 * The descriptor may be an entry's. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef int flock_call(int, int);
typedef int lockf_call(int, int, off_t);
typedef int fcntl_call(int, int, ...);

static const char *const lockf_names[] = {"lockf", "lockf64"};
static const char *const fcntl_names[] = {"fcntl", "fcntl64"};
static const int operations[] = {LOCK_SH | LOCK_NB, LOCK_EX | LOCK_NB, LOCK_SH | LOCK_NB,
                                 LOCK_UN,           LOCK_NB,           77};
static const int commands[] = {F_GETLK, F_SETLK, F_OFD_GETLK, F_OFD_SETLK, F_SETLKW};
static const short types[] = {F_RDLCK, F_WRLCK, F_UNLCK, 77};
static const int others[] = {F_GETFD, F_GETFL, F_GETLEASE, F_GETOWN, 12345};

static void try_flock(int fd)
{
    flock_call *lock = (flock_call *)symbol("flock");
    for (unsigned i = 0; i < COUNT(operations); i++) {
        SHOW("flock", lock(fd, operations[i]));
    }
}

static void try_lockf(int fd)
{
    for (unsigned i = 0; i < COUNT(lockf_names); i++) {
        lockf_call *lock = (lockf_call *)symbol(lockf_names[i]);
        SHOW("lockf test", lock(fd, F_TEST, 10));
        SHOW("lockf try", lock(fd, F_TLOCK, 10));
        SHOW("lockf unlock", lock(fd, F_ULOCK, 10));
        SHOW("lockf none", lock(fd, 77, 10));
    }
}

static void try_lock_of(fcntl_call *control, int fd, int command, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 5, .l_len = 10};
    SHOW("fcntl lock", control(fd, command, &lock));
    printf("  %d %d %d %d\n", command, lock.l_type, (int)lock.l_start, (int)lock.l_len);
}

static void try_fcntl(int fd)
{
    for (unsigned n = 0; n < COUNT(fcntl_names); n++) {
        fcntl_call *control = (fcntl_call *)symbol(fcntl_names[n]);
        for (unsigned i = 0; i < COUNT(commands) * COUNT(types); i++) {
            try_lock_of(control, fd, commands[i / COUNT(types)], types[i % COUNT(types)]);
        }
        SHOW("fcntl NULL", control(fd, F_SETLK, NULL));
        for (unsigned i = 0; i < COUNT(others); i++) {
            SHOW("fcntl", control(fd, others[i]));
        }
        int copy = control(fd, F_DUPFD_CLOEXEC, 50);
        SHOW("fcntl copy", copy);
        SHOW("fcntl flags", control(copy, F_GETFD));
        close(copy);
        SHOW("lease", control(fd, F_SETLEASE, F_RDLCK));
        SHOW("lease", control(fd, F_GETLEASE));
        SHOW("lease", control(fd, F_SETLEASE, F_UNLCK));
    }
}

typedef int statfs_call(int, struct statfs *);
typedef int statvfs_call(int, struct statvfs *);
typedef long pathconf_call(int, int);
typedef int ioctl_call(int, unsigned long, ...);

/* Leaves out the free space, which changes all the time. */
static void try_file_system(int fd)
{
    static const char *const names[] = {"fstatfs", "fstatfs64"};
    static const char *const vnames[] = {"fstatvfs", "fstatvfs64"};
    for (unsigned i = 0; i < COUNT(names); i++) {
        struct statfs out = {.f_type = 0};
        struct statvfs vout = {.f_bsize = 0};
        SHOW(names[i], ((statfs_call *)symbol(names[i]))(fd, &out));
        printf("  %lx %ld %ld %ld\n", (long)out.f_type, (long)out.f_bsize, (long)out.f_blocks,
               (long)out.f_namelen);
        SHOW(vnames[i], ((statvfs_call *)symbol(vnames[i]))(fd, &vout));
        printf("  %ld %ld %lx %ld\n", (long)vout.f_bsize, (long)vout.f_blocks, vout.f_fsid,
               (long)vout.f_namemax);
    }
    static const int limits[] = {_PC_LINK_MAX, _PC_NAME_MAX, _PC_2_SYMLINKS, _PC_FILESIZEBITS, 999};
    for (unsigned i = 0; i < COUNT(limits); i++) {
        SHOW("fpathconf", ((pathconf_call *)symbol("fpathconf"))(fd, limits[i]));
    }
}

static void try_ioctl(int fd)
{
    ioctl_call *control = (ioctl_call *)symbol("ioctl");
    static const unsigned long requests[] = {
        FS_IOC_GETFLAGS, FS_IOC_GETVERSION, (unsigned long)(int)FS_IOC_GETVERSION,
        FIONREAD,        FIGETBSZ,          12345};
    for (unsigned i = 0; i < COUNT(requests); i++) {
        int value = 0;
        SHOW("ioctl", control(fd, requests[i], &value));
        printf("  %x\n", (unsigned)value);
    }
    struct fsxattr more = {.fsx_xflags = 0};
    SHOW("ioctl FSGETXATTR", control(fd, FS_IOC_FSGETXATTR, &more));
    printf("  %x %x\n", more.fsx_xflags, more.fsx_projid);
}

typedef ssize_t readlink_call(const char *, char *, size_t);
typedef ssize_t readlinkat_call(int, const char *, char *, size_t);
typedef ssize_t readlink_chk_call(const char *, char *, size_t, size_t);
typedef ssize_t readlinkat_chk_call(int, const char *, char *, size_t, size_t);

/* Shows a link's text, and the bytes of the buffer behind it, which the call must leave alone. */
static void show_name(const char *label, ssize_t length, char *text)
{
    show_result(label, length, errno);
    printf("  %s\n", text);
    memset(text, '.', 255);
    errno = SENTINEL;
}

static void try_name_in(int dirfd, const char *path, size_t bytes)
{
    char text[256] = "";
    show_name("none", 0, text);
    show_name("readlink", ((readlink_call *)symbol("readlink"))(path, text, bytes), text);
    show_name("readlinkat", ((readlinkat_call *)symbol("readlinkat"))(dirfd, path, text, bytes),
              text);
    show_name("__readlink_chk",
              ((readlink_chk_call *)symbol("__readlink_chk"))(path, text, bytes, bytes), text);
    show_name(
        "__readlinkat_chk",
        ((readlinkat_chk_call *)symbol("__readlinkat_chk"))(dirfd, path, text, bytes, bytes + 1),
        text);
}

static void try_name(int fd)
{
    static const char *const ways[] = {"/proc/self/fd/%d",
                                       "/dev/fd/%d",
                                       "/proc/thread-self/fd/%d",
                                       "//proc/self/../self/./fd//%d",
                                       "/proc/self/fd/%d/",
                                       "/proc/self/fd/%dx",
                                       "/proc/self/fdinfo/%d",
                                       "%d",
                                       "self/fd/%d"};
    static const size_t rooms[] = {255, 60, 7, 1, 0};
    static const char *const directories[] = {"/proc/self/fd", "/proc", "/"};
    for (unsigned i = 0; i < COUNT(ways) * COUNT(rooms); i++) {
        char path[64];
        snprintf(path, sizeof path, ways[i / COUNT(rooms)], fd);
        int directory = open(directories[i % COUNT(directories)], O_RDONLY | O_DIRECTORY);
        try_name_in(directory, path, rooms[i % COUNT(rooms)]);
        close(directory);
        SHOW("readlink NULL", ((readlink_call *)symbol("readlink"))(path, NULL, 20));
        SHOW("readlinkat", ((readlinkat_call *)symbol("readlinkat"))(-1, path, NULL, 20));
    }
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer's own readlink measures the path */
    SHOW("readlink NULL", ((readlink_call *)symbol("readlink"))(NULL, NULL, 20));
#endif
}

/* Opens a new descriptor for each question. */
static void try_everything(const char *path)
{
    void (*const tries[])(int) = {try_flock,       try_lockf, try_fcntl,
                                  try_file_system, try_ioctl, try_name};
    printf("%s\n", path);
    for (unsigned i = 0; i < COUNT(tries); i++) {
        int fd = open(path, O_RDONLY | (i == 1 ? O_CLOEXEC : 0));
        lseek(fd, 3, SEEK_SET);
        tries[i](fd);
        if (fd >= 0) {
            show_fd(fd);
            close(fd);
        }
    }
}

void body(void)
{
    for (unsigned i = 0; i < interesting_count; i++) {
        try_everything(interesting_paths[i]);
        try_everything(absolute_path(interesting_paths[i]));
    }
}
