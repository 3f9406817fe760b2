/*
 * Recognises local file systems. There maps of a file are coherent between all processes, locks and
 * renames mean what they should, and an open does not wait for a server.
 */
#pragma once

#include <stdbool.h>
#include <sys/statfs.h>
#include <sys/types.h>

/* Returns true for tmpfs, ext2-4, XFS, Btrfs and overlayfs; of any other file system it is
 * unknown. */
bool stk_local_is(const struct statfs *fs);

/* Returns true if files lie in memory only (tmpfs, ramfs, hugetlbfs). There a page that was once
 * stored to through a map is stored to again without any trace in the file's times. */
bool stk_local_is_memory(const struct statfs *fs);

/* Returns true for overlayfs. There a map holds the file of a layer. So a process that has a file
 * mapped and not open does not show when the kernel is asked about the file itself, as by a
 * lease. */
bool stk_local_is_layered(const struct statfs *fs);

/* Returns 1 if the disk has heads to move, 0 if it is known to have none, and -1 if the kernel does
 * not say. A partition's disk is asked. Virtual machines may say wrong things of their disks. */
int stk_local_rotates(dev_t dev);
