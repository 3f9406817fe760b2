/*
 * Opens directories whose path belongs to this user and root, so that no other user can replace
 * them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/path.h"

/*
 * Opens the directory `path` (absolute) for reading, close-on-exec, after walking to it by
 * descriptors from "/".
 *
 * Each directory and each symbolic link on the walk must belong to this user or to root. A
 * directory that others may write to must be sticky. This user must own the last directory, and no
 * other user may write to it. With `make`, missing directories are made with mode 0700.
 *
 * Returns the descriptor, which the caller closes, or -errno. -EPERM: another user controls a part
 * of the path; -ELOOP: too many links; or the kernel's own error, such as -ENOENT. No heap; uses 12
 * KiB of stack; safe in threads and after fork.
 *
 * Root is user 0 or the owner of "/": in a user namespace the host's root has no number. If "/"
 * belongs to the overflow user, all users without a number in the namespace pass for root. The
 * kernel shows no difference between them, and /tmp and /home must remain usable.
 */
int stk_trusted_path_open(const char *path, bool make);
/* Walks to the directory `path` as stk_trusted_path_open does, and asks less of the last directory.
 * It may belong to root, and its group may write to it. Returns 0 or -errno. -ENOENT: the part of
 * the path that exists is as it must be. Uses 12 KiB of stack; safe as stk_trusted_path_open. */
int stk_trusted_path_check(const char *path);

/*
 * Checks the directories above `path` (absolute, without links; it need not exist). Each must
 * belong to this user, to root or to `owner`. If its group or others may write to it, it must be
 * sticky. Otherwise another user could replace `path` at any time.
 *
 * Returns 0, or -errno with the directory at fault in `where` (not NULL). -EPERM: the directory
 * belongs to another user; -ENOTUNIQ: its group or others may write to it; -ENAMETOOLONG: `where`
 * has no room for `path`; or the kernel's own error. No heap, no descriptor; safe everywhere.
 */
int stk_trusted_path_check_above(const char *path, uid_t owner, char *where, size_t bytes);
