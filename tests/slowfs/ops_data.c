/* Open files: their data. See ops.h. The file handle is the source's own descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults.h"
#include "ops.h"

bool slow_direct_io;

/* The kernel has resolved links already, and its O_DIRECT does not align our buffers. */
static int source_flags(int flags)
{
    return (flags & ~(O_NOFOLLOW | O_DIRECT)) | O_CLOEXEC;
}

/* keep_cache stays off: each open reads its data anew, as a cache that must revalidate would. */
static void do_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
    char path[SLOW_PATH_BYTES];
    slow_begin(SLOW_open);
    int fault = slow_fault(SLOW_FAULT_OPEN);
    if (fault != 0) {
        fuse_reply_err(request, fault);
        return;
    }
    SLOW_FD int named = slow_inode_open(node);
    slow_fd_path(named, path);
    int fd = named < 0 ? -1 : open(path, source_flags(info->flags));
    if (fd < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    info->fh = (uint64_t)fd;
    slow_fault_opened(fd);
    info->direct_io = slow_direct_io;
    /* An interrupted open has no release to close it. */
    if (fuse_reply_open(request, info) == -ENOENT) {
        close(fd);
    }
}

/* Opens a new file, and looks it up without counting: one operation, as on a network. */
static int create_file(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                       int flags, struct fuse_entry_param *entry)
{
    SLOW_FD int directory = slow_inode_open(parent);
    int fd = directory < 0 ? -1 : openat(directory, name, source_flags(flags) | O_CREAT, mode);
    if (fd < 0) {
        return -errno;
    }
    slow_give_to_caller(request, directory, name);
    int result = slow_inode_lookup(parent, name, entry);
    if (result < 0) {
        close(fd);
        return result;
    }
    slow_fault_attr(&entry->attr);
    return fd;
}

static void do_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *info)
{
    struct fuse_entry_param entry;
    slow_begin(SLOW_create);
    int fd = create_file(request, parent, name, mode, info->flags, &entry);
    if (fd < 0) {
        fuse_reply_err(request, -fd);
        return;
    }
    info->fh = (uint64_t)fd;
    slow_fault_opened(fd);
    info->direct_io = slow_direct_io;
    if (fuse_reply_create(request, &entry, info) == -ENOENT) {
        close(fd);
    }
}

/* Reads all of it: a short read would mean to the kernel that the file ends here. */
static ssize_t read_whole(int fd, char *buffer, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, buffer + done, size - done, offset + (off_t)done);
        if (got < 0 && done == 0) {
            return -errno;
        }
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static void do_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
                    struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_read);
    int fault = slow_fault_stale((int)info->fh);
    if (fault == 0 && (info->flags & O_DIRECT) != 0) {
        fault = (int)slow_fault_value(SLOW_FAULT_DIRECT);
    }
    fault = fault != 0 ? fault : slow_fault_read(&size, offset);
    if (fault != 0) {
        fuse_reply_err(request, fault);
        return;
    }
    char *buffer = malloc(size);
    if (buffer == NULL) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    ssize_t got = read_whole((int)info->fh, buffer, size, offset);
    if (got < 0) {
        fuse_reply_err(request, (int)-got);
    } else {
        slow_count_add(SLOW_read_bytes, (uint64_t)got);
        slow_pass((uint64_t)got);
        fuse_reply_buf(request, buffer, (size_t)got);
    }
    free(buffer);
}

static void do_write(fuse_req_t request, fuse_ino_t node, const char *data, size_t size,
                     off_t offset, struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_write);
    ssize_t done = pwrite((int)info->fh, data, size, offset);
    if (done < 0) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_write(request, (size_t)done);
    }
}

/* close(2) of the program: what a network file system sends by then, it sends as writes. */
static void do_flush(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
    (void)node;
    slow_reply_result(request, close(dup((int)info->fh)));
}

static void do_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
    (void)node;
    slow_count(SLOW_release);
    close((int)info->fh);
    fuse_reply_err(request, 0);
}

static void do_fsync(fuse_req_t request, fuse_ino_t node, int data_only,
                     struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_others);
    int fd = (int)info->fh;
    int fault = (int)slow_fault_value(SLOW_FAULT_FSYNC);
    if (fault != 0) {
        fuse_reply_err(request, fault);
        return;
    }
    slow_reply_result(request, data_only ? fdatasync(fd) : fsync(fd));
}

static void do_fallocate(fuse_req_t request, fuse_ino_t node, int mode, off_t offset, off_t length,
                         struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_others);
    slow_reply_result(request, fallocate((int)info->fh, mode, offset, length));
}

/* Only SEEK_DATA and SEEK_HOLE come here; the position moves, but no operation reads from it. */
static void do_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence,
                     struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_others);
    off_t found = lseek((int)info->fh, offset, whence);
    if (found < 0) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_lseek(request, found);
    }
}

void slow_ops_add_data(struct fuse_lowlevel_ops *ops)
{
    ops->open = do_open;
    ops->create = do_create;
    ops->read = do_read;
    ops->write = do_write;
    ops->flush = do_flush;
    ops->release = do_release;
    ops->fsync = do_fsync;
    ops->fallocate = do_fallocate;
    ops->lseek = do_lseek;
}
