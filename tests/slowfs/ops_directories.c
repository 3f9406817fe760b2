/* Directories read. See ops.h. The file handle is a struct listing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops.h"

/* The kernel locks an open directory while it reads it, so a listing needs no lock of its own. */
struct listing {
    DIR *stream;
    struct dirent *pending; /* read, but did not fit into the last reply */
    off_t position;
};

static struct listing *listing_of(const struct fuse_file_info *info)
{
    return (struct listing *)(uintptr_t)info->fh;
}

static DIR *open_stream(fuse_ino_t node)
{
    SLOW_FD int named = slow_inode_open(node);
    int fd = named < 0 ? -1 : openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        close(fd);
    }
    return stream;
}

static void do_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
    slow_begin(SLOW_opendir);
    struct listing *listing = calloc(1, sizeof *listing);
    if (listing == NULL || (listing->stream = open_stream(node)) == NULL) {
        int error = errno;
        free(listing);
        fuse_reply_err(request, error);
        return;
    }
    info->fh = (uint64_t)(uintptr_t)listing;
    if (fuse_reply_open(request, info) == -ENOENT) {
        closedir(listing->stream);
        free(listing);
    }
}

static void seek_to(struct listing *listing, off_t offset)
{
    if (offset != listing->position) {
        seekdir(listing->stream, offset);
        listing->pending = NULL;
        listing->position = offset;
    }
}

/* Returns the next entry, or NULL at the end or after an error; errno is 0 at the end. */
static struct dirent *next_entry(struct listing *listing)
{
    errno = 0;
    if (listing->pending == NULL) {
        listing->pending = readdir(listing->stream);
    }
    return listing->pending;
}

/* Appends one entry; false when it does not fit. */
static bool add_entry(fuse_req_t request, const struct dirent *entry, char *buffer, size_t size,
                      size_t *used)
{
    struct stat attr = {.st_ino = entry->d_ino, .st_mode = (mode_t)DTTOIF(entry->d_type)};
    size_t needed = fuse_add_direntry(request, buffer + *used, size - *used, entry->d_name, &attr,
                                      entry->d_off);
    if (needed > size - *used) {
        return false;
    }
    *used += needed;
    return true;
}

/* Fills the buffer; the bytes used, or -errno if there was an error before the first entry. */
static ssize_t fill_buffer(fuse_req_t request, struct listing *listing, char *buffer, size_t size)
{
    size_t used = 0;
    struct dirent *entry;
    while ((entry = next_entry(listing)) != NULL) {
        if (!add_entry(request, entry, buffer, size, &used)) {
            return (ssize_t)used;
        }
        listing->position = entry->d_off;
        listing->pending = NULL;
    }
    return used == 0 && errno != 0 ? -errno : (ssize_t)used;
}

static void do_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
                       struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_readdir);
    char *buffer = malloc(size);
    if (buffer == NULL) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    seek_to(listing_of(info), offset);
    ssize_t used = fill_buffer(request, listing_of(info), buffer, size);
    if (used < 0) {
        fuse_reply_err(request, (int)-used);
    } else {
        fuse_reply_buf(request, buffer, (size_t)used);
    }
    free(buffer);
}

static void do_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
    (void)node;
    struct listing *listing = listing_of(info);
    closedir(listing->stream);
    free(listing);
    fuse_reply_err(request, 0);
}

static void do_fsyncdir(fuse_req_t request, fuse_ino_t node, int data_only,
                        struct fuse_file_info *info)
{
    (void)node;
    slow_begin(SLOW_others);
    int fd = dirfd(listing_of(info)->stream);
    slow_reply_result(request, data_only ? fdatasync(fd) : fsync(fd));
}

void slow_ops_add_directories(struct fuse_lowlevel_ops *ops)
{
    ops->opendir = do_opendir;
    ops->readdir = do_readdir;
    ops->releasedir = do_releasedir;
    ops->fsyncdir = do_fsyncdir;
}
