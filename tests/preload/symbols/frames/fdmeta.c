/* Metadata through a descriptor: fchmod, fchown, futimens, futimes, f*xattr. A descriptor may be an
 * entry's; a change through it must reach the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef int fchmod_call(int, mode_t);
typedef int fchown_call(int, uid_t, gid_t);
typedef int futimens_call(int, const struct timespec *);
typedef int futimes_call(int, const struct timeval *);
typedef int fsetxattr_call(int, const char *, const void *, size_t, int);
typedef int fremovexattr_call(int, const char *);
typedef ssize_t fgetxattr_call(int, const char *, void *, size_t);
typedef ssize_t flistxattr_call(int, char *, size_t);

static void show_attributes(int fd)
{
    char list[256], value[64];
    fgetxattr_call *get = (fgetxattr_call *)symbol("fgetxattr");
    flistxattr_call *enumerate = (flistxattr_call *)symbol("flistxattr");
    memset(list, 0, sizeof list);
    memset(value, 0, sizeof value);
    SHOW("  flistxattr(NULL)", enumerate(fd, NULL, 0));
    SHOW("  flistxattr", enumerate(fd, list, sizeof list));
    printf("  first '%s'\n", list);
    SHOW("  flistxattr short", enumerate(fd, list, 1));
    SHOW("  fgetxattr", get(fd, "user.one", value, sizeof value));
    printf("  value '%s'\n", value);
    SHOW("  fgetxattr short", get(fd, "user.one", value, 1));
    SHOW("  fgetxattr other", get(fd, "user.none", value, sizeof value));
}

/* One call on a descriptor of each kind: of a known file by each name, for writing, of others. */
#define EVERY_FD(name, type, ...)                                                                  \
    do {                                                                                           \
        static const char *const ways[] = {"pool", "poollink", "sym", "hard", "sub/../pool"};      \
        type *function = (type *)symbol(name);                                                     \
        for (unsigned i = 0; i < COUNT(ways); i++) {                                               \
            unsigned number = pool_next();                                                         \
            int fd = open(pool_path(ways[i], number), O_RDONLY);                                   \
            SHOW(name, function(__VA_ARGS__));                                                     \
            show_fd(fd);                                                                           \
            show_attributes(fd);                                                                   \
            pool_look(number);                                                                     \
            close(fd);                                                                             \
        }                                                                                          \
        unsigned number = pool_next();                                                             \
        int fds[] = {open(pool_path("pool", number), O_RDWR),                                      \
                     open(pool_path("pool", number), O_PATH),                                      \
                     open("../other/o.txt", O_RDONLY),                                             \
                     open("sub", O_RDONLY),                                                        \
                     -1,                                                                           \
                     9999};                                                                        \
        for (unsigned i = 0; i < COUNT(fds); i++) {                                                \
            int fd = fds[i];                                                                       \
            SHOW(name, function(__VA_ARGS__));                                                     \
            show_attributes(fd);                                                                   \
            pool_look(number);                                                                     \
        }                                                                                          \
        for (unsigned i = 0; i < 4; i++) {                                                         \
            close(fds[i]);                                                                         \
        }                                                                                          \
    } while (0)

/* An open file keeps its identity when its name goes to another file. All but the count of its
 * names, which only the file's own descriptor could show. */
static void after_rename(void)
{
    unsigned number = pool_next();
    unsigned other = pool_next();
    struct stat before, after;
    int fd = open(pool_path("pool", number), O_RDONLY);
    fstat(fd, &before);
    SHOW("rename", rename(pool_path("pool", other), pool_path("pool", number)));
    SHOW("fstat", fstat(fd, &after));
    SHOW("other", before.st_ino != after.st_ino || before.st_dev != after.st_dev);
    show_content(fd);
    pool_look(number);
    close(fd);
    number = pool_next();
    fd = open(pool_path("poollink", number), O_RDONLY);
    SHOW("chmod", chmod(pool_path("pool", number), 0611));
    show_fd(fd);
    SHOW("chmod", chmod(pool_path("pool", number), 0622));
    show_fd(fd);
    close(fd);
}

static void show_copy(int from, off_t *offset, size_t bytes)
{
    typedef ssize_t copy_call(int, off_t *, int, off_t *, size_t, unsigned);
    copy_call *copy = (copy_call *)symbol("copy_file_range");
    int to = open(".", O_TMPFILE | O_RDWR, 0600);
    SHOW("copy_file_range", copy(from, offset, to, NULL, bytes, 0));
    SHOW("  at the source", lseek(from, 0, SEEK_CUR));
    SHOW("  at the target", lseek(to, 0, SEEK_CUR));
    SHOW("  offset", offset != NULL ? *offset : -1);
    SHOW("  flags", copy(from, offset, to, NULL, bytes, 77));
    lseek(to, 0, SEEK_SET);
    show_content(to);
    close(to);
}

static void show_sending(const char *name, int from, off_t *offset, size_t bytes)
{
    typedef ssize_t send_call(int, int, off_t *, size_t);
    send_call *send = (send_call *)symbol(name);
    int to = open(".", O_TMPFILE | O_RDWR, 0600);
    SHOW(name, send(to, from, offset, bytes));
    SHOW("  at the source", lseek(from, 0, SEEK_CUR));
    SHOW("  at the target", lseek(to, 0, SEEK_CUR));
    SHOW("  offset", offset != NULL ? *offset : -1);
    SHOW("  from what is none", send(to, -1, offset, bytes));
    lseek(to, 0, SEEK_SET);
    show_content(to);
    close(to);
}

/* The kernel copies within one file system; an entry is on another than its origin. */
static void copy_ranges(void)
{
    unsigned number = pool_next();
    off_t offset = 500;
    int fds[] = {open(pool_path("pool", number), O_RDONLY), open("sub", O_RDONLY), -1};
    for (unsigned i = 0; i < COUNT(fds); i++) {
        show_copy(fds[i], NULL, 1000);
        show_copy(fds[i], &offset, 700);
        show_copy(fds[i], NULL, 1 << 20);
        show_copy(fds[i], NULL, 1);
        lseek(fds[i], 100, SEEK_SET);
        show_sending("sendfile", fds[i], NULL, 1000);
        show_sending("sendfile64", fds[i], &offset, 700);
        show_sending("sendfile64", fds[i], NULL, 1 << 20);
    }
    close(fds[0]);
    close(fds[1]);
}

void body(void)
{
    uid_t me = getuid();
    gid_t group = me == 0 ? 16 : getgid();
    const struct timeval micro[2] = {{1000000002, 3}, {1000000004, 5}};
    const struct timespec nano[2] = {{1000000006, 7}, {1000000008, 9}};
    EVERY_FD("fchmod", fchmod_call, fd, 0615);
    EVERY_FD("fchmod", fchmod_call, fd, 0400);
    EVERY_FD("fchown", fchown_call, fd, me, group);
    EVERY_FD("futimens", futimens_call, fd, nano);
    EVERY_FD("futimens", futimens_call, fd, NULL);
    EVERY_FD("futimes", futimes_call, fd, micro);
    EVERY_FD("fsetxattr", fsetxattr_call, fd, "user.one", "value", 5, 0);
    EVERY_FD("fsetxattr", fsetxattr_call, fd, "user.one", "value", 5, XATTR_REPLACE);
    EVERY_FD("fremovexattr", fremovexattr_call, fd, "user.one");
    after_rename();
    copy_ranges();
}
