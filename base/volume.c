/* Asks the file system for a volume's number, or makes one from the mount. */
#include "base/volume.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

/* Numbers that the headers of an old system lack. */
#define XFS_MAGIC_NUMBER      0x58465342
#define ZFS_MAGIC_NUMBER      0x2fc12fc1
#define BCACHEFS_MAGIC_NUMBER 0xca451a4e
#define NFS_MAGIC_NUMBER      0x6969
#define SMB2_MAGIC_NUMBER     0xfe534d42
#define CIFS_MAGIC_NUMBER     0xff534d42
#define CEPH_MAGIC_NUMBER     0x00c36400
#define LUSTRE_MAGIC_NUMBER   0x0bd00bd0
#define GPFS_MAGIC_NUMBER     0x47504653
#define BEEGFS_MAGIC_NUMBER   0x19830326
#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif
#define UNIQUE_MOUNT_ID    0x4000u /* STATX_MNT_ID_UNIQUE, of 6.8 */
#define UNIQUE_MOUNT_ID_AT 0x90    /* of stx_mnt_id, in bytes */

/* ---- volumes that have a number ---- */

/* The answer of XFS to a request of its own, since it answers statfs with the number of the
 * device. */
struct xfs_geometry {
    uint32_t before[8];
    uint64_t blocks[4];
    uint8_t uuid[16];
    uint32_t after[8];
};
#define XFS_GET_GEOMETRY 0x80705864u /* _IOR('X', 100, struct xfs_geometry) */

_Static_assert(sizeof(struct xfs_geometry) == 0x70, "as large as the request says");

static bool hash_xfs(int fd, uint64_t *out)
{
    struct xfs_geometry geometry;
    if (stk_sys_ioctl(fd, XFS_GET_GEOMETRY, &geometry) != 0) {
        STK_OWNED_FD int readable = stk_sys_openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        if (readable < 0 || stk_sys_ioctl(readable, XFS_GET_GEOMETRY, &geometry) != 0) {
            return false;
        }
    }
    *out = stk_hash_64(geometry.uuid, sizeof geometry.uuid, 0);
    return true;
}

/* Returns true for file systems whose f_fsid is made of the volume's UUID (for a tmpfs: of this one
 * instance). Returns true, too, for those of servers, whose files have inode numbers and times that
 * no image brings along. On all others f_fsid may be the number of the device, or of a build. */
bool stk_volume_has_number(const struct statfs *fs)
{
    switch ((unsigned long)fs->f_type) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case ZFS_MAGIC_NUMBER:
    case BCACHEFS_MAGIC_NUMBER:
    case TMPFS_MAGIC:
    case NFS_MAGIC_NUMBER:
    case SMB2_MAGIC_NUMBER:
    case CIFS_MAGIC_NUMBER:
    case CEPH_MAGIC_NUMBER:
    case LUSTRE_MAGIC_NUMBER:
    case GPFS_MAGIC_NUMBER:
    case BEEGFS_MAGIC_NUMBER:
        return true;
    default:
        return false;
    }
}

/* ---- mounts ---- */

bool stk_volume_mount_id(int fd, uint64_t *id)
{
    char path[40], info[512];
    stk_text_print(path, sizeof path, "/proc/self/fdinfo/%lu", (uint64_t)(unsigned)fd);
    if (stk_proc_read_text(path, info, sizeof info) <= 0) {
        return false;
    }
    int64_t found = stk_text_number_after(info, "mnt_id:", -1);
    *id = (uint64_t)found;
    return found >= 0;
}

/* Returns the inode number of a device's file in sysfs, which gives these out in turn. */
static uint64_t number_in_sysfs(const char *before, dev_t dev, const char *after)
{
    char path[64];
    struct stat stat;
    stk_text_print(path, sizeof path, "%s%lu:%lu%s", before, (uint64_t)major(dev),
                   (uint64_t)minor(dev), after);
    return stk_sys_fstatat(AT_FDCWD, path, &stat, 0) == 0 ? stat.st_ino : 0;
}

/* Hashes a mount on a kernel before 6.8, where a mount's number is given to the next one. The
 * mount's parts say more: a FUSE connection has a queue of its own, and a loop device shows its
 * file for as long as it has it. */
static uint64_t hash_reused_mount(int fd)
{
    struct stat stat = {0};
    uint64_t id = 0;
    stk_sys_fstat(fd, &stat);
    stk_volume_mount_id(fd, &id);
    const uint64_t parts[] = {id, stat.st_dev, number_in_sysfs("/sys/class/bdi/", stat.st_dev, ""),
                              number_in_sysfs("/sys/dev/block/", stat.st_dev, "/loop")};
    return stk_hash_64(parts, sizeof parts, 0);
}

uint64_t stk_volume_mount_number(int fd)
{
    struct statx answer;
    uint64_t number;
    if (stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, UNIQUE_MOUNT_ID, &answer) != 0 ||
        (answer.stx_mask & UNIQUE_MOUNT_ID) == 0) {
        return hash_reused_mount(fd);
    }
    memcpy(&number, (const char *)&answer + UNIQUE_MOUNT_ID_AT, sizeof number);
    return number;
}

/* The numbers of mounts begin anew with each boot. */
static uint64_t hash_mount(int fd)
{
    const uint64_t parts[] = {stk_proc_boot(), stk_volume_mount_number(fd)};
    return stk_hash_64(parts, sizeof parts, 0);
}

uint64_t stk_volume_of_fd(int fd, const struct statfs *fs)
{
    uint64_t hash;
    if (stk_volume_has_number(fs)) {
        return stk_hash_64(&fs->f_fsid, sizeof fs->f_fsid, 0);
    }
    if ((unsigned long)fs->f_type == XFS_MAGIC_NUMBER && hash_xfs(fd, &hash)) {
        return hash;
    }
    return hash_mount(fd);
}
