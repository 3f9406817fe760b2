/* Recognises file systems by the magic number of statfs. */
#include "base/local.h"

#include <linux/magic.h>

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
