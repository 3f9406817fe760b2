/* Attributes, names looked up, links read, extended attributes. See ops.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "faults.h"
#include "ops.h"

void slow_reply_result(fuse_req_t request, int result)
{
    fuse_reply_err(request, result == -1 ? errno : 0);
}

/* A name that is not there may be kept as such, which makes it an entry of inode 0. */
static void reply_missing(fuse_req_t request, int error)
{
    uint64_t kept_ns = slow_fault_value(SLOW_FAULT_NEGATIVE_NS);
    const struct fuse_entry_param none = {.entry_timeout = (double)kept_ns / 1e9};
    if (error == ENOENT && kept_ns != 0) {
        fuse_reply_entry(request, &none);
    } else {
        fuse_reply_err(request, error);
    }
}

/* The errno that this operation shall fail with, or 0. */
static int fault_of(enum slow_fault which, bool is_file)
{
    int down = (int)slow_fault_value(SLOW_FAULT_DOWN);
    return down != 0 ? down : is_file ? slow_fault(which) : 0;
}

static void do_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry;
    slow_delay();
    int result = slow_inode_lookup(parent, name, &entry);
    if (result < 0) {
        slow_count(SLOW_lookup_negative);
        reply_missing(request, -result);
        return;
    }
    bool is_file = S_ISREG(entry.attr.st_mode);
    slow_count(is_file ? SLOW_lookup_file : SLOW_lookup_other);
    int fault = fault_of(SLOW_FAULT_LOOKUP, is_file);
    if (fault != 0) {
        slow_inode_forget(entry.ino, 1);
        fuse_reply_err(request, fault);
        return;
    }
    slow_fault_attr(&entry.attr);
    fuse_reply_entry(request, &entry);
}

static void do_forget(fuse_req_t request, fuse_ino_t node, uint64_t count)
{
    slow_inode_forget(node, count);
    fuse_reply_none(request);
}

static void do_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++) {
        slow_inode_forget(forgets[i].ino, forgets[i].nlookup);
    }
    fuse_reply_none(request);
}

/* 0, or -1 with errno. */
static int read_attr(int fd, struct stat *attr)
{
    return fd < 0 ? -1 : fstatat(fd, "", attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static void reply_attr(fuse_req_t request, int result, struct stat *attr)
{
    if (result != 0) {
        fuse_reply_err(request, errno);
    } else {
        slow_fault_attr(attr);
        fuse_reply_attr(request, attr, slow_timeouts.attr);
    }
}

/* Before the delay only the kind, for the counter; the answer is from after it. */
static void do_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
    (void)info;
    struct stat attr = {0};
    SLOW_FD int fd = slow_inode_open(node);
    read_attr(fd, &attr);
    bool is_file = S_ISREG(attr.st_mode);
    slow_begin(is_file ? SLOW_getattr_file : SLOW_getattr_other);
    int fault = fault_of(SLOW_FAULT_GETATTR, is_file);
    if (fault != 0) {
        fuse_reply_err(request, fault);
        return;
    }
    reply_attr(request, read_attr(fd, &attr), &attr);
}

static int set_owner(int fd, const struct stat *attr, int which)
{
    uid_t uid = which & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1;
    gid_t gid = which & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1;
    return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static struct timespec wanted_time(int which, int given, int now, struct timespec value)
{
    if (which & now) {
        return (struct timespec){.tv_nsec = UTIME_NOW};
    }
    return which & given ? value : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static int set_times(int fd, const struct stat *attr, int which)
{
    struct timespec times[2] = {
        wanted_time(which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim),
        wanted_time(which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim),
    };
    return utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static int set_size(const char *path, off_t size, const struct fuse_file_info *info)
{
    return info != NULL ? ftruncate((int)info->fh, size) : truncate(path, size);
}

/* In the order in which the kernel's own setattr would refuse: owner, mode, size, times. */
static int set_attributes(int fd, const struct stat *attr, int which,
                          const struct fuse_file_info *info)
{
    const int owner = FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
    const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
                      FUSE_SET_ATTR_MTIME_NOW;
    char path[SLOW_PATH_BYTES];
    slow_fd_path(fd, path);
    if ((which & owner && set_owner(fd, attr, which) != 0) ||
        (which & FUSE_SET_ATTR_MODE && chmod(path, attr->st_mode & 07777) != 0) ||
        (which & FUSE_SET_ATTR_SIZE && set_size(path, attr->st_size, info) != 0) ||
        (which & times && set_times(fd, attr, which) != 0)) {
        return -1;
    }
    return 0;
}

static void do_setattr(fuse_req_t request, fuse_ino_t node, struct stat *attr, int which,
                       struct fuse_file_info *info)
{
    slow_begin(SLOW_setattr);
    SLOW_FD int fd = slow_inode_open(node);
    int result = fd < 0 ? -1 : set_attributes(fd, attr, which, info);
    struct stat now;
    reply_attr(request, result != 0 ? result : read_attr(fd, &now), &now);
}

static void do_readlink(fuse_req_t request, fuse_ino_t node)
{
    char target[PATH_MAX];
    slow_begin(SLOW_readlink);
    SLOW_FD int fd = slow_inode_open(node);
    ssize_t length = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof target - 1);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    target[length] = '\0';
    fuse_reply_readlink(request, target);
}

static void do_statfs(fuse_req_t request, fuse_ino_t node)
{
    struct statvfs answer;
    slow_begin(SLOW_statfs);
    SLOW_FD int fd = slow_inode_open(node);
    if (slow_fault_value(SLOW_FAULT_STATVFS_ZERO) != 0) {
        const struct statvfs nothing = {.f_namemax = 255};
        fuse_reply_statfs(request, &nothing);
    } else if (fd < 0 || fstatvfs(fd, &answer) != 0) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_statfs(request, &answer);
    }
}

/* Replies with a list or a value; with size 0 the caller asked for the length only. */
static void reply_xattr(fuse_req_t request, const char *value, size_t size, ssize_t length)
{
    if (length < 0) {
        fuse_reply_err(request, errno);
    } else if (size == 0) {
        fuse_reply_xattr(request, (size_t)length);
    } else {
        fuse_reply_buf(request, value, (size_t)length);
    }
}

/* One byte at least: a buffer of none may be NULL, which would look like no memory. */
static char *xattr_buffer(size_t size)
{
    return malloc(size + 1);
}

static void do_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
    char path[SLOW_PATH_BYTES];
    slow_begin(SLOW_getxattr);
    SLOW_FD int fd = slow_inode_open(node);
    slow_fd_path(fd, path);
    char *value = xattr_buffer(size);
    bool ready = fd >= 0 && value != NULL;
    reply_xattr(request, value, size, ready ? getxattr(path, name, value, size) : -1);
    free(value);
}

static void do_listxattr(fuse_req_t request, fuse_ino_t node, size_t size)
{
    char path[SLOW_PATH_BYTES];
    slow_begin(SLOW_others);
    SLOW_FD int fd = slow_inode_open(node);
    slow_fd_path(fd, path);
    char *list = xattr_buffer(size);
    bool ready = fd >= 0 && list != NULL;
    reply_xattr(request, list, size, ready ? listxattr(path, list, size) : -1);
    free(list);
}

static void do_setxattr(fuse_req_t request, fuse_ino_t node, const char *name, const char *value,
                        size_t size, int flags)
{
    char path[SLOW_PATH_BYTES];
    slow_begin(SLOW_others);
    SLOW_FD int fd = slow_inode_open(node);
    slow_fd_path(fd, path);
    slow_reply_result(request, fd < 0 ? -1 : setxattr(path, name, value, size, flags));
}

static void do_removexattr(fuse_req_t request, fuse_ino_t node, const char *name)
{
    char path[SLOW_PATH_BYTES];
    slow_begin(SLOW_others);
    SLOW_FD int fd = slow_inode_open(node);
    slow_fd_path(fd, path);
    slow_reply_result(request, fd < 0 ? -1 : removexattr(path, name));
}

void slow_ops_add_attributes(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = do_lookup;
    ops->forget = do_forget;
    ops->forget_multi = do_forget_multi;
    ops->getattr = do_getattr;
    ops->setattr = do_setattr;
    ops->readlink = do_readlink;
    ops->statfs = do_statfs;
    ops->getxattr = do_getxattr;
    ops->listxattr = do_listxattr;
    ops->setxattr = do_setxattr;
    ops->removexattr = do_removexattr;
}
