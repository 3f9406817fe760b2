/* Changes by the program. See preload/change.h. */
#include "preload/change.h"

#include <fcntl.h>

#include "base/sys.h"
#include "preload/cover.h"
#include "preload/guard.h"

void stk_write_before(struct stk_write *write, int dirfd, const char *path)
{
    struct stk_guard guard;
    struct stk_place place;
    write->cache = NULL;
    if (stk_cover_may(path) && stk_guard_enter(&guard)) {
        write->cache = stk_cover(dirfd, path, &place);
        if (write->cache != NULL) {
            stk_cache_mark_written(write->cache, &place, &write->mark);
        }
        stk_guard_leave(&guard);
    }
}

void stk_write_done(const struct stk_write *write, int fd, int dirfd, const char *path)
{
    struct stk_guard guard;
    struct stat stat;
    if (write->cache == NULL || !stk_guard_enter(&guard)) {
        return;
    }
    int error = fd >= 0 ? stk_sys_fstat(fd, &stat) : stk_sys_fstatat(dirfd, path, &stat, 0);
    if (error == 0) {
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

/* Whether what happens to this name changes what other names mean: a link or directory leads to
 * many files, and another hard link shares the metadata. */
static bool reaches_further(int dirfd, const char *path, bool is_name)
{
    struct stat stat;
    if (stk_sys_fstatat(dirfd, path, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    return S_ISLNK(stat.st_mode) || (is_name && S_ISDIR(stat.st_mode)) ||
           (S_ISREG(stat.st_mode) && stat.st_nlink > 1);
}

static void change(int dirfd, const char *path, bool is_name)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_cover_may(path) || !stk_guard_enter(&guard)) {
        return;
    }
    struct stk_cache *cache = stk_cover(dirfd, path, &place);
    if (cache != NULL) {
        stk_cache_distrust(cache, &place);
        if (reaches_further(dirfd, path, is_name)) {
            stk_cache_distrust_root(cache, place.root);
        }
    }
    stk_guard_leave(&guard);
}

void stk_change_name(int dirfd, const char *path)
{
    change(dirfd, path, true);
}

void stk_change_metadata(int dirfd, const char *path)
{
    change(dirfd, path, false);
}

void stk_change_metadata_fd(int fd)
{
    char path[STK_PATH_BYTES];
    if (stk_cover_may("?") && stk_cover_fd_path(fd, path)) {
        stk_change_metadata(AT_FDCWD, path);
    }
}
