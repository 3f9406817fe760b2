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

/* Files that lie in memory only (tmpfs, ramfs, hugetlbfs): a page that was once stored to through a
 * map is stored to again without any trace in the file's times. */
bool stk_local_is_memory(const struct statfs *fs);

/* Overlayfs: a map holds the file of a layer, so whoever has a file mapped and not open is known to
 * nobody who asks the kernel about the file itself, as by a lease. */
bool stk_local_is_layered(const struct statfs *fs);

#endif
