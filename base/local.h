/*
 * Which file systems are local: maps of their files are coherent between all processes, their locks
 * and renames mean what they should, and an open does not wait for a server.
 */
#ifndef STK_BASE_LOCAL_H
#define STK_BASE_LOCAL_H

#include <stdbool.h>
#include <sys/statfs.h>

/* tmpfs, ext2-4, XFS, Btrfs, overlayfs; of any other it is not known. */
bool stk_local_is(const struct statfs *fs);

#endif
