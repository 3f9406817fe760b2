/* Names made, moved and removed. See ops.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "ops.h"

/* A group other than ours was inherited from a set-group-ID directory: that one stays. */
void slow_give_to_caller(fuse_req_t request, int parent_fd, const char *name)
{
    const struct fuse_ctx *caller = fuse_req_ctx(request);
    struct stat attr;
    if (geteuid() != 0 || (caller->uid == 0 && caller->gid == 0) ||
        fstatat(parent_fd, name, &attr, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    gid_t gid = attr.st_gid == getegid() ? caller->gid : (gid_t)-1;
    (void)!fchownat(parent_fd, name, caller->uid, gid, AT_SYMLINK_NOFOLLOW);
}

/* The reply to whatever made `name`: its entry, or the errno of the call that returned -1. */
static void reply_made(fuse_req_t request, int result, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry;
    int error = result == -1 ? -errno : slow_inode_lookup(parent, name, &entry);
    if (error < 0) {
        fuse_reply_err(request, -error);
    } else {
        slow_fault_attr(&entry.attr);
        fuse_reply_entry(request, &entry);
    }
}

static void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    slow_begin(SLOW_others);
    SLOW_FD int directory = slow_inode_open(parent);
    int result = directory < 0 ? -1 : mkdirat(directory, name, mode);
    if (result == 0) {
        slow_give_to_caller(request, directory, name);
    }
    reply_made(request, result, parent, name);
}

static void do_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                     dev_t device)
{
    slow_begin(SLOW_others);
    SLOW_FD int directory = slow_inode_open(parent);
    int result = directory < 0 ? -1 : mknodat(directory, name, mode, device);
    if (result == 0) {
        slow_give_to_caller(request, directory, name);
    }
    reply_made(request, result, parent, name);
}

static void do_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
    slow_begin(SLOW_others);
    SLOW_FD int directory = slow_inode_open(parent);
    int result = directory < 0 ? -1 : symlinkat(target, directory, name);
    if (result == 0) {
        slow_give_to_caller(request, directory, name);
    }
    reply_made(request, result, parent, name);
}

static void do_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
    char path[SLOW_PATH_BYTES];
    slow_begin(SLOW_others);
    SLOW_FD int file = slow_inode_open(node);
    SLOW_FD int directory = file < 0 ? -1 : slow_inode_open(parent);
    slow_fd_path(file, path);
    int result = directory < 0 ? -1 : linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW);
    reply_made(request, result, parent, name);
}

static void do_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    slow_begin(SLOW_unlink);
    SLOW_FD int directory = slow_inode_open(parent);
    slow_inode_pin(directory, name);
    slow_reply_result(request, directory < 0 ? -1 : unlinkat(directory, name, 0));
}

static void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    slow_begin(SLOW_others);
    SLOW_FD int directory = slow_inode_open(parent);
    slow_inode_pin(directory, name);
    slow_reply_result(request, directory < 0 ? -1 : unlinkat(directory, name, AT_REMOVEDIR));
}

static void do_rename(fuse_req_t request, fuse_ino_t parent, const char *name,
                      fuse_ino_t new_parent, const char *new_name, unsigned int flags)
{
    slow_begin(SLOW_rename);
    SLOW_FD int from = slow_inode_open(parent);
    SLOW_FD int to = from < 0 ? -1 : slow_inode_open(new_parent);
    flags = slow_fault_value(SLOW_FAULT_RENAME_FLAGS) != 0 ? 0 : flags;
    slow_inode_pin(to, new_name);
    slow_reply_result(request, to < 0 ? -1 : renameat2(from, name, to, new_name, flags));
}

void slow_ops_add_names(struct fuse_lowlevel_ops *ops)
{
    ops->mkdir = do_mkdir;
    ops->mknod = do_mknod;
    ops->symlink = do_symlink;
    ops->link = do_link;
    ops->unlink = do_unlink;
    ops->rmdir = do_rmdir;
    ops->rename = do_rename;
}
