/* Where files lie on a disk. See cli/extent.h. */
#include "cli/extent.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdbool.h>

#include "base/sys.h"
#include "cli/origin.h"

#define NO_PLACE (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE)

uint64_t extent_of_file(const char *path, uint64_t otherwise)
{
    struct {
        struct fiemap map;
        struct fiemap_extent first;
    } asked = {.map = {.fm_length = 1, .fm_extent_count = 1}};
    int fd = origin_open(path);
    if (fd < 0) {
        return otherwise;
    }
    int error = stk_sys_ioctl(fd, FS_IOC_FIEMAP, &asked);
    stk_sys_close(fd);
    bool known =
        error == 0 && asked.map.fm_mapped_extents > 0 && (asked.first.fe_flags & NO_PLACE) == 0;
    return known ? asked.first.fe_physical : otherwise;
}
