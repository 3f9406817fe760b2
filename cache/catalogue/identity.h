/*
 * The identity of one version of one origin file: all that stat returns of it. The version's name
 * is a hash of the part that changes with the content.
 */
#pragma once

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

/* Returns false if a value does not fit, such as a time stamp beyond the years 1678-2262: the cache
 * bypasses such files. */
bool stk_identity_from_statx(struct stk_identity *out, const struct statx *in);
/* Reads the identity of a file that is open. `sync` is one of AT_STATX_..., or 0. Returns false for
 * anything but a regular file, too. */
bool stk_identity_of_file(int fd, int sync, struct stk_identity *out);
void stk_identity_to_stat(const struct stk_identity *in, struct stat *out);
/* Fills the basic fields and the birth time, and sets their bits in stx_mask. */
void stk_identity_to_statx(const struct stk_identity *in, struct statx *out);

/*
 * Returns the 48-bit name of a version: XXH3 of size, mtime, ctime, inode number and `volume`. The
 * inode number is left out if the mount makes inode numbers up. `volume` (base/volume.h) is 0 for a
 * file on its root's volume.
 */
uint64_t stk_identity_name(const struct stk_identity *identity, bool inode_counts, uint64_t volume);

/* Returns true if both identities are of one file, even if it was changed in between. A reused
 * inode has another time of birth, where the origin keeps one. */
bool stk_identity_same_file(const struct stk_identity *a, const struct stk_identity *b);

/* Returns true if both identities are of one version of one file. */
bool stk_identity_same_version(const struct stk_identity *a, const struct stk_identity *b);
