#include "cli/fill/extent.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdbool.h>

#include "base/sys.h"
#include "cli/fill/open_origin.h"

#define NO_PLACE (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE)

uint64_t extent_of_file(const char *path, uint64_t otherwise)
{
    _Alignas(struct fiemap) char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)] = {0};
    struct fiemap *map = (struct fiemap *)(void *)room;
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
