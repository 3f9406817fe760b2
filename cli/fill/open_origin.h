/* Files that are to be filled: opens them, and finds where they lie on a disk. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/origin/root.h"

/* Opens a file for reading only, and without changing its access time if that is allowed. Does not
 * wait if a pipe has replaced the file. Returns a descriptor, or -errno. */
int origin_open(const char *path);

/*
 * Has what is read of an open file go past the kernel's cache, if the file lies on FUSE. There an
 * open by any process may drop what the kernel is fetching, which is then fetched again. Other file
 * systems have reads of both kinds wait for each other. Returns false if the file's reads stay as
 * they are: the kernel holds a part of it, or does not say.
 */
bool origin_read_directly(const struct stk_root *root, int fd, uint64_t size);
/* Does the same for a file that one request reads. That spares a copy of it, and pages that the
 * filler would drop at once. A longer file comes faster by the kernel's own read-ahead. The end of
 * a file of whole pages would take a second request. */
void origin_read_small_directly(const struct stk_root *root, int fd);

/* Returns the place of a regular file's first byte on its disk: files can be read in the order in
 * which a disk's head passes them. Returns `otherwise` if the file system does not say, or if there
 * is no such place (yet). Reads the file's inode, and nothing of its contents. */
uint64_t origin_extent(const char *path, uint64_t otherwise);
