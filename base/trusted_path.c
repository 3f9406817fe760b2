/* Walks a path name by name, and checks the owner and mode of each directory and link. */
#include "base/trusted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"

#define MOST_LINKS 40 /* as the kernel's own limit */

struct trusted_walk {
    int at;                    /* the directory that was reached */
    uid_t root;                /* the owner of "/" */
    unsigned links;            /* symbolic links that were followed */
    char rest[STK_PATH_BYTES]; /* the names that are still to be walked */
    bool make;
};

/* Goes on from another directory. The walk owns `fd` from now on. */
static void step(struct trusted_walk *walk, int fd)
{
    stk_sys_close(walk->at);
    walk->at = fd;
}

static int start(struct trusted_walk *walk)
{
    struct stat stat;
    int fd = stk_sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0 && stk_sys_fstat(fd, &stat) == 0) {
        walk->root = stat.st_uid;
    }
    return fd;
}

static int restart(struct trusted_walk *walk)
{
    int fd = start(walk);
    if (fd >= 0) {
        step(walk, fd);
    }
    return fd >= 0 ? 0 : fd;
}

/* Returns true if the owner is this user or root; `root` is the owner of "/". */
static bool is_owned_well(const struct stat *stat, uid_t root)
{
    return stat->st_uid == stk_sys_geteuid() || stat->st_uid == 0 || stat->st_uid == root;
}

/* Takes the first name off the rest. Returns false at the end of the rest. */
static bool take_name(struct trusted_walk *walk, char name[STK_PATH_BYTES])
{
    size_t slashes = strspn(walk->rest, "/");
    size_t length = strcspn(walk->rest + slashes, "/");
    memcpy(name, walk->rest + slashes, length);
    name[length] = '\0';
    memmove(walk->rest, walk->rest + slashes + length, strlen(walk->rest + slashes + length) + 1);
    return length > 0;
}

static int open_name(const struct trusted_walk *walk, const char *name)
{
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    int fd = stk_sys_openat(walk->at, name, flags, 0);
    if (fd == -ENOENT && walk->make) {
        stk_sys_mkdirat(walk->at, name, 0700); /* if that fails, the second open returns ENOENT */
        fd = stk_sys_openat(walk->at, name, flags, 0);
    }
    return fd;
}

/* Puts the text of a link before the rest; an absolute link begins at "/" again. */
static int follow(struct trusted_walk *walk, int link)
{
    char path[STK_PATH_BYTES];
    struct stk_text text = stk_text_in(path, sizeof path);
    ssize_t length = stk_sys_readlinkat(link, "", path, sizeof path);
    if (length < 0 || (size_t)length == sizeof path) {
        return length < 0 ? (int)length : -ENAMETOOLONG;
    }
    text.used = (size_t)length;
    stk_text_add_char(&text, '/');
    stk_text_add(&text, walk->rest);
    if (text.cut || ++walk->links > MOST_LINKS) {
        return text.cut ? -ENAMETOOLONG : -ELOOP;
    }
    memcpy(walk->rest, path, text.used + 1);
    return path[0] == '/' ? restart(walk) : 0;
}

static int check_directory(const struct stat *stat)
{
    bool is_open = (stat->st_mode & S_IWOTH) != 0 && (stat->st_mode & S_ISVTX) == 0;
    if (!S_ISDIR(stat->st_mode)) {
        return -ENOTDIR;
    }
    return is_open ? -EPERM : 0;
}

/* Goes on from `fd` if it is a directory, or from where it leads if it is a link. */
static int enter(struct trusted_walk *walk, int fd)
{
    struct stat stat;
    int error = stk_sys_fstat(fd, &stat);
    if (error == 0 && !is_owned_well(&stat, walk->root)) {
        error = -EPERM;
    }
    bool is_link = error == 0 && S_ISLNK(stat.st_mode);
    if (error == 0) {
        error = is_link ? follow(walk, fd) : check_directory(&stat);
    }
    if (error == 0 && !is_link) {
        step(walk, fd);
    } else {
        stk_sys_close(fd);
    }
    return error;
}

static int walk_names(struct trusted_walk *walk)
{
    char name[STK_PATH_BYTES];
    int error = 0;
    while (error == 0 && take_name(walk, name)) {
        int fd = open_name(walk, name);
        error = fd < 0 ? fd : enter(walk, fd);
    }
    return error;
}

/* Opens the last directory for reading. */
static int finish(const struct trusted_walk *walk)
{
    struct stat stat;
    int error = stk_sys_fstat(walk->at, &stat);
    if (error == 0 && (stat.st_uid != stk_sys_geteuid() || (stat.st_mode & 022) != 0)) {
        error = -EPERM;
    }
    return error != 0 ? error
                      : stk_sys_openat(walk->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

/* Walks to the end of the path. Returns 0 or -errno. The caller closes `walk->at` if it is open. */
static int walk_to(struct trusted_walk *walk, const char *path)
{
    if (path[0] != '/' || !stk_text_copy(walk->rest, sizeof walk->rest, path)) {
        return path[0] != '/' ? -EINVAL : -ENAMETOOLONG;
    }
    walk->at = start(walk);
    return walk->at < 0 ? walk->at : walk_names(walk);
}

int stk_trusted_path_open(const char *path, bool make)
{
    struct trusted_walk walk = {.at = -1, .make = make};
    int error = walk_to(&walk, path);
    int fd = error == 0 ? finish(&walk) : error;
    stk_sys_close_opened(walk.at);
    return fd;
}

int stk_trusted_path_check(const char *path)
{
    struct trusted_walk walk = {.at = -1, .make = false};
    int error = walk_to(&walk, path);
    stk_sys_close_opened(walk.at);
    return error;
}

/* ---- what lies above ---- */

/* Cuts the last name off an absolute path. */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
}

static int check_above(const char *directory, uid_t root, uid_t owner)
{
    struct stat stat;
    int error = stk_sys_fstatat(AT_FDCWD, directory, &stat, AT_SYMLINK_NOFOLLOW);
    if (error != 0) {
        return error;
    }
    if (!is_owned_well(&stat, root) && stat.st_uid != owner) {
        return -EPERM;
    }
    return (stat.st_mode & 022) != 0 && (stat.st_mode & S_ISVTX) == 0 ? -ENOTUNIQ : 0;
}

int stk_trusted_path_check_above(const char *path, uid_t owner, char *where, size_t bytes)
{
    struct stat root;
    if (path[0] != '/' || !stk_text_copy(where, bytes, path)) {
        return path[0] != '/' ? -EINVAL : -ENAMETOOLONG;
    }
    int error = stk_sys_fstatat(AT_FDCWD, "/", &root, 0);
    while (error == 0 && where[1] != '\0') {
        cut_name(where);
        error = check_above(where, root.st_uid, owner);
    }
    return error;
}
