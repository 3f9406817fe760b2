#include "cache/origin/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own_number.h"
#include "base/sys.h"
#include "cache/catalogue/budget.h"

#define PAGE_BYTES   4096 /* there are larger ones */
#define MAPPED_PAGES 1024

bool stk_origin_is_at(const struct stk_origin *origin, int dirfd, const char *path)
{
    struct statx answer;
    const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    return stk_sys_statx(dirfd, path, flags, STATX_INO, &answer) == 0 &&
           answer.stx_ino == origin->ino &&
           makedev(answer.stx_dev_major, answer.stx_dev_minor) == origin->dev;
}

/* Asks no server. */
static bool is_held(const struct stk_origin *origin)
{
    return stk_origin_is_at(origin, origin->fd, "");
}

void stk_origin_take(struct stk_origin *origin, const struct stk_root *root)
{
    int number = root->is_fuse ? -1 : stk_own_number_take(origin->fd);
    if (number >= 0) {
        origin->fd = number;
    }
}

void stk_origin_release(struct stk_origin *origin, const struct stk_origin *theirs)
{
    if (origin->fd != theirs->fd) {
        if (is_held(origin)) {
            stk_sys_close(origin->fd);
        }
        stk_own_number_release(origin->fd);
    }
    *origin = *theirs;
}

/* Returns true if the descriptor had O_DIRECT, and has it no longer. Such opens of a program are
 * left to the origin, so the flag is the command's own. */
static bool ends_direct_reads(int fd)
{
    int flags = stk_sys_get_status_flags(fd);
    return flags >= 0 && (flags & O_DIRECT) != 0 &&
           stk_sys_set_status_flags(fd, flags & ~O_DIRECT) == 0;
}

static ssize_t read_somehow(int fd, char *buffer, size_t bytes, off_t offset)
{
    ssize_t got = stk_sys_pread_again(fd, buffer, bytes, offset);
    bool refused = got < 0 && got != -EINTR && ends_direct_reads(fd);
    return refused ? stk_sys_pread_again(fd, buffer, bytes, offset) : got;
}

/* Before and after: the number may have been another file's in between, and be ours again. */
ssize_t stk_origin_read(const struct stk_origin *origin, char *buffer, size_t bytes, off_t offset)
{
    if (!is_held(origin)) {
        return -EBADF;
    }
    ssize_t got = read_somehow(origin->fd, buffer, bytes, offset);
    return got < 0 || is_held(origin) ? got : -EBADF;
}

void stk_origin_read_through(const struct stk_origin *origin, bool begins)
{
    stk_sys_fadvise(origin->fd, 0, 0, begins ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_NORMAL);
}

void stk_origin_write_out(const struct stk_origin *origin)
{
    stk_sys_write_out(origin->fd);
}

/* Looking for a hole moves the offset, which is put back. A file system that knows of no holes says
 * that the first one is the end, or that it cannot say. */
static bool finds_hole(int fd, uint64_t size)
{
    off_t before = stk_sys_lseek(fd, 0, SEEK_CUR);
    off_t hole = stk_sys_lseek(fd, 0, SEEK_HOLE);
    stk_sys_lseek(fd, before, SEEK_SET);
    return hole >= 0 && (uint64_t)hole < size;
}

bool stk_origin_has_holes(const struct stk_origin *origin, const struct stk_identity *identity)
{
    if (identity->blocks * STK_BLOCK_BYTES >= identity->size) {
        return false;
    }
    STK_OWNED_FD int fd = stk_sys_dup_high(origin->fd);
    const struct stk_origin ours = {.fd = fd, .dev = origin->dev, .ino = origin->ino};
    return fd < 0 || !is_held(&ours) || finds_hole(fd, identity->size);
}

/* Returns true if one of the pages of a map is in memory. */
static bool has_pages(char *map, uint64_t size)
{
    unsigned char pages[MAPPED_PAGES] = {0}; /* with larger pages there are fewer */
    for (uint64_t at = 0; at < size; at += sizeof pages * PAGE_BYTES) {
        uint64_t bytes =
            size - at < sizeof pages * PAGE_BYTES ? size - at : sizeof pages * PAGE_BYTES;
        if (stk_sys_mincore(map + at, bytes, pages) != 0) {
            return true;
        }
        for (uint64_t i = 0; i < (bytes + PAGE_BYTES - 1) / PAGE_BYTES; i++) {
            if ((pages[i] & 1) != 0) {
                return true;
            }
        }
    }
    return false;
}

/* For older kernels. The map is only looked at: a page that is touched may be a SIGBUS. */
static bool is_unread_by_map(const struct stk_origin *origin, uint64_t size)
{
    char *map = is_held(origin) ? stk_sys_mmap(size, PROT_READ, MAP_SHARED, origin->fd, 0) : NULL;
    bool unread = map != NULL && !has_pages(map, size);
    stk_sys_munmap(map, size);
    return unread;
}

bool stk_origin_is_unread(const struct stk_origin *origin, uint64_t size)
{
    int64_t cached = stk_sys_count_cached(origin->fd);
    return cached < 0 ? is_unread_by_map(origin, size) : cached == 0;
}

void stk_origin_forget(const struct stk_origin *origin)
{
    stk_sys_fadvise(origin->fd, 0, 0, POSIX_FADV_DONTNEED);
}
