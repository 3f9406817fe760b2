/*
 * The identity of one version of one origin file: everything that stat tells about it, and the
 * name that follows from the part that changes with the content.
 */
#ifndef STK_CACHE_IDENTITY_H
#define STK_CACHE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define STK_NAME_BITS 48
#define STK_NO_TIME   INT64_MIN /* a time stamp that the origin does not keep (birth) */

struct stk_identity {
    uint64_t dev, ino;
    uint64_t size, blocks; /* bytes; units of 512 bytes */
    uint32_t mode, nlink, uid, gid, blksize;
    int64_t mtime_ns, ctime_ns, atime_ns, btime_ns; /* since 1970 */
};

/* False when a value does not fit (a time stamp beyond the years 1678-2262): such files pass. */
bool stk_identity_from_statx(struct stk_identity *out, const struct statx *in);
void stk_identity_to_stat(const struct stk_identity *in, struct stat *out);
/* Fills the basic fields and the birth time, and says so in stx_mask. */
void stk_identity_to_statx(const struct stk_identity *in, struct statx *out);

/*
 * The 48-bit name of this version: XXH3 of size, mtime, ctime, and, unless the mount makes them up,
 * the inode number; and of the volume (base/volume.h) when the file is not on its root's, else 0.
 */
uint64_t stk_identity_name(const struct stk_identity *identity, bool inode_counts, uint64_t volume);

/* Whether two looks saw the same file, whatever was done to it in between: an inode that was given
 * to the next file has another time of birth, where the origin keeps one. */
bool stk_identity_same_file(const struct stk_identity *a, const struct stk_identity *b);

/* Whether two looks saw the same version of the same file. */
bool stk_identity_same_version(const struct stk_identity *a, const struct stk_identity *b);

#endif
