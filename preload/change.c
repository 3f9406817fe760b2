/* Changes by the program. See preload/change.h. */
#include "preload/change.h"

#include <fcntl.h>

#include "base/sys.h"
#include "preload/cover.h"
#include "preload/guard.h"
#include "preload/process.h"

/* Apart, so that a call that has nothing to do with us does not need this much stack. */
static __attribute__((noinline)) void mark_place(struct stk_write *write, int dirfd,
                                                 const char *path)
{
    struct stk_place place;
    struct stk_cache *cache = stk_cover_change(dirfd, path, &place);
    if (cache != NULL) {
        write->cache = cache;
        write->placed = true;
        stk_cache_mark_written(cache, &place, &write->mark);
    }
}

void stk_write_before(struct stk_write *write, int dirfd, const char *path)
{
    struct stk_guard guard;
    *write = (struct stk_write){NULL, false, {0, 0, 0}};
    if (!stk_process_is_on() || !stk_guard_enter(&guard)) {
        return;
    }
    if (stk_cover_may_change(path)) {
        mark_place(write, dirfd, path);
    }
    write->cache = write->placed ? write->cache : stk_process_cache_if_ready();
    stk_guard_leave(&guard);
}

/* A name that is not covered may lead to a covered file all the same, through links. */
static bool is_concerned(const struct stk_write *write, int fd, const struct stat *stat)
{
    return write->placed || (fd >= 0 && stk_cover_has_fd(write->cache, fd, stat));
}

void stk_write_done(const struct stk_write *write, int fd, int dirfd, const char *path)
{
    struct stk_guard guard;
    struct stat stat;
    if (write->cache == NULL || !stk_guard_enter(&guard)) {
        return;
    }
    int error = fd >= 0 ? stk_sys_fstat(fd, &stat) : stk_sys_fstatat(dirfd, path, &stat, 0);
    if (error == 0 && S_ISREG(stat.st_mode) && is_concerned(write, fd, &stat)) {
        stk_cache_mark_inode(write->cache, &stat);
    }
    stk_guard_leave(&guard);
}

void stk_write_failed(const struct stk_write *write)
{
    struct stk_guard guard;
    if (write->cache != NULL && stk_guard_enter(&guard)) {
        stk_cache_unmark_written(write->cache, &write->mark);
        stk_guard_leave(&guard);
    }
}

static void distrust_all(struct stk_cache *cache)
{
    for (unsigned i = 0; i < cache->roots.count; i++) {
        stk_cache_distrust_root(cache, &cache->roots.roots[i]);
    }
}

/* What happens to this name may change what other names mean: a directory or link leads to many
 * files, and a file may be known by hard links, and by paths through links. */
static void distrust_others(struct stk_cache *cache, int dirfd, const char *path, bool is_name)
{
    struct stat stat;
    if (stk_sys_fstatat(dirfd, path, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (S_ISREG(stat.st_mode)) {
        stk_cache_distrust_inode(cache, &stat);
    } else if (S_ISLNK(stat.st_mode) || (is_name && S_ISDIR(stat.st_mode))) {
        distrust_all(cache);
    }
}

static void change(int dirfd, const char *path, bool is_name)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_cover_may_change(path) || !stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = stk_cover_change(dirfd, path, &place);
    if (cache != NULL) {
        stk_cache_distrust(cache, &place);
        distrust_others(cache, dirfd, path, is_name);
    }
    stk_guard_leave(&guard);
}

void stk_change_name(int dirfd, const char *path)
{
    change(dirfd, path, true);
}

void stk_change_metadata(int dirfd, const char *path)
{
    if ((path == NULL || *path == '\0') && dirfd >= 0) {
        stk_change_metadata_fd(dirfd);
    } else {
        change(dirfd, path, false);
    }
}

void stk_change_metadata_fd(int fd)
{
    char path[STK_PATH_BYTES];
    if (stk_cover_may("?") && stk_cover_fd_path(fd, path)) {
        stk_change_metadata(AT_FDCWD, path);
    }
}
