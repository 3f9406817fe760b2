/* Recognises file systems by the magic number of statfs, and disks by sysfs. */
#include "base/local.h"

#include <linux/magic.h>
#include <sys/sysmacros.h>

#include "base/proc.h"
#include "base/text.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

bool stk_local_is(const struct statfs *fs)
{
    switch ((unsigned long)fs->f_type) {
    case TMPFS_MAGIC:
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}

bool stk_local_is_memory(const struct statfs *fs)
{
    switch ((unsigned long)fs->f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC:
        return true;
    default:
        return false;
    }
}

bool stk_local_is_layered(const struct statfs *fs)
{
    return (unsigned long)fs->f_type == OVERLAYFS_SUPER_MAGIC;
}

int stk_local_rotates(dev_t dev)
{
    static const char *const places[] = {"/queue/rotational", "/../queue/rotational"};
    char path[80], answer[8];
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        stk_text_print(path, sizeof path, "/sys/dev/block/%lu:%lu%s", (uint64_t)major(dev),
                       (uint64_t)minor(dev), places[i]);
        if (stk_proc_read_text(path, answer, sizeof answer) > 0) {
            return answer[0] == '1';
        }
    }
    return -1;
}
