/*
 * Directories whose way nobody else has a hand in.
 */
#ifndef STK_BASE_WAY_H
#define STK_BASE_WAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/path.h"

/*
 * Opens a directory if each directory and each symbolic link on the way belongs to this user or to
 * root, and not everybody may change what is in the directory.
 *
 * Opens the directory `path` (absolute) for reading, close-on-exec, after walking to it by
 * descriptors from "/". Links are followed where root or this user has made them. Where `make`,
 * directories that are missing are made, 0700. Of the last one this user is the owner, and nobody
 * else may write to it.
 *
 * The descriptor, which is the caller's to close, or -errno: -EPERM if another user has a hand in
 * the way, -ELOOP for too many links, or what the kernel says, as -ENOENT. No heap; uses 12 KiB of
 * stack; safe in threads and after fork.
 *
 * Root is user 0 or the owner of "/": in a user namespace the host's root has no number.
 */
int stk_way_open(const char *path, bool make);

/*
 * Checks the directories above `path` (absolute, without links; it need not be there): each belongs
 * to this user, to root or to `owner`, and neither its group nor others may write to it unless it
 * is sticky. Otherwise another user could put something else in the place of `path` at any time.
 *
 * 0, or -errno with the directory at fault in `where` (not NULL): -EPERM it belongs to another
 * user, -ENOTUNIQ others may write to it, -ENAMETOOLONG `where` has no room for `path`, or what the
 * kernel says. No heap, no descriptor; safe everywhere.
 */
int stk_way_check_above(const char *path, uid_t owner, char *where, size_t bytes);

#endif
