#include "cli/fill/open_origin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "base/sys.h"

#define PAGE_BYTES    4096
#define REQUEST_BYTES (128 << 10)
#define MOST_HELD     8 /* one in so many pages: those that the job is reading */
#define NO_PLACE      (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE)

int origin_open(const char *path)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = stk_sys_openat(AT_FDCWD, path, flags | O_NOATIME, 0);
    return fd == -EPERM ? stk_sys_openat(AT_FDCWD, path, flags, 0) : fd;
}

bool origin_read_directly(const struct stk_root *root, int fd, uint64_t size)
{
    int64_t held = root->is_fuse ? stk_sys_count_cached(fd) : -1; /* pages */
    int flags = stk_sys_get_status_flags(fd);
    bool few = held >= 0 && (uint64_t)held * PAGE_BYTES * MOST_HELD <= size;
    return few && flags >= 0 && stk_sys_set_status_flags(fd, flags | O_DIRECT) == 0;
}

void origin_read_small_directly(const struct stk_root *root, int fd)
{
    struct statx answer;
    if (root->is_fuse &&
        stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &answer) == 0 &&
        answer.stx_size <= REQUEST_BYTES && answer.stx_size % PAGE_BYTES != 0) {
        origin_read_directly(root, fd, answer.stx_size);
    }
}

uint64_t origin_extent(const char *path, uint64_t otherwise)
{
    _Alignas(struct fiemap) char memory[sizeof(struct fiemap) + sizeof(struct fiemap_extent)] = {0};
    struct fiemap *map = (struct fiemap *)(void *)memory;
    map->fm_length = 1;
    map->fm_extent_count = 1;
    int fd = origin_open(path);
    if (fd < 0) {
        return otherwise;
    }
    int error = stk_sys_ioctl(fd, FS_IOC_FIEMAP, map);
    stk_sys_close(fd);
    bool known =
        error == 0 && map->fm_mapped_extents > 0 && (map->fm_extents[0].fe_flags & NO_PLACE) == 0;
    return known ? map->fm_extents[0].fe_physical : otherwise;
}
