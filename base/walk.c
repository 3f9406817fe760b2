/* Walks by getdents64, one mapped buffer a level. */
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/path.h"
#include "base/sys.h"

#define BUFFER_BYTES (16u << 10)
#define MAX_DEPTH    256

/* A directory entry as the kernel writes it (getdents64). */
struct entry {
    uint64_t ino;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static int open_directory(int dirfd, const char *name)
{
    return stk_sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
}

/* On a kernel before 5.6 only another device shows a mount. */
static int open_within(int dirfd, const char *name, const struct stat *stat)
{
    struct stat above;
    int fd = stk_sys_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd != -ENOSYS && fd != -EPERM) {
        return fd;
    }
    bool is_same = stk_sys_fstat(dirfd, &above) == 0 && above.st_dev == stat->st_dev;
    return is_same ? open_directory(dirfd, name) : -EXDEV;
}

static int walk_entry(const struct stk_walk *walk, int dirfd, const char *name, unsigned depth)
{
    struct stat stat;
    if (stk_sys_fstatat(dirfd, name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    if (S_ISDIR(stat.st_mode) && depth < MAX_DEPTH) {
        int fd = walk->within ? open_within(dirfd, name, &stat) : open_directory(dirfd, name);
        if (fd >= 0 && walk->take != NULL && walk->take(walk->context, fd, depth + 1)) {
            return 0;
        }
        if (fd >= 0) {
            int result = stk_walk_open(walk, fd, depth + 1);
            stk_sys_close(fd);
            if (result != 0) {
                return result;
            }
        }
    }
    return walk->visit(walk->context, dirfd, name, &stat);
}

static int walk_names(const struct stk_walk *walk, int dirfd, const char *buffer, ssize_t bytes,
                      unsigned depth)
{
    for (ssize_t at = 0; at < bytes;) {
        const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
        const char *name = entry->name;
        int result = stk_path_is_dots(name) ? 0 : walk_entry(walk, dirfd, name, depth);
        if (result != 0) {
            return result;
        }
        at += entry->bytes;
    }
    return 0;
}

int stk_walk_open(const struct stk_walk *walk, int dirfd, unsigned depth)
{
    int result = 0;
    ssize_t got;
    char *buffer = stk_sys_memory(BUFFER_BYTES);
    if (buffer == NULL) {
        return -ENOMEM;
    }
    do {
        got = stk_sys_getdents(dirfd, buffer, BUFFER_BYTES);
        result = walk_names(walk, dirfd, buffer, got, depth);
    } while (got > 0 && result == 0);
    stk_sys_munmap(buffer, BUFFER_BYTES);
    return result;
}

static int walk_top(const char *top, const struct stk_walk *walk)
{
    STK_OWNED_FD int fd = open_directory(AT_FDCWD, top);
    return fd < 0 ? fd : stk_walk_open(walk, fd, 1);
}

int stk_walk(const char *top, stk_walk_visitor *visit, void *context)
{
    return walk_top(top, &(struct stk_walk){visit, NULL, context, .within = false});
}

int stk_walk_within(const char *top, stk_walk_visitor *visit, void *context)
{
    return walk_top(top, &(struct stk_walk){visit, NULL, context, .within = true});
}

static int remove_one(void *context, int dirfd, const char *name, const struct stat *stat)
{
    (void)context;
    stk_sys_unlinkat(dirfd, name, S_ISDIR(stat->st_mode) ? AT_REMOVEDIR : 0);
    return 0;
}

int stk_walk_remove(const char *top)
{
    int error = stk_walk_within(top, remove_one, NULL);
    if (error == -ENOENT) {
        return 0;
    }
    int removed = stk_sys_unlinkat(AT_FDCWD, top, AT_REMOVEDIR);
    return removed == -ENOENT ? 0 : removed;
}
