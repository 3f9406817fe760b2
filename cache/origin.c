/* Origins. See cache/origin.h. */
#include "cache/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/sys.h"
#include "cache/budget.h"
#include "cache/entry.h"

#define INTERRUPTIONS 1000 /* a profiling timer interrupts reads of FUSE files all the time */

/* Asks no server. */
static bool is_held(const struct stk_origin *origin)
{
    struct statx answer;
    return stk_sys_statx(origin->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &answer) ==
               0 &&
           answer.stx_ino == origin->ino &&
           makedev(answer.stx_dev_major, answer.stx_dev_minor) == origin->dev;
}

static ssize_t read_patiently(int fd, void *buffer, size_t bytes, off_t offset)
{
    ssize_t got = -EINTR;
    for (int i = 0; i < INTERRUPTIONS && got == -EINTR; i++) {
        got = stk_sys_pread(fd, buffer, bytes, offset);
    }
    return got;
}

/* Before and after: the number may have been another file's in between, and be ours again. */
ssize_t stk_origin_read(const struct stk_origin *origin, char *buffer, size_t bytes, off_t offset)
{
    if (!is_held(origin)) {
        return -EBADF;
    }
    ssize_t got = read_patiently(origin->fd, buffer, bytes, offset);
    return got < 0 || is_held(origin) ? got : -EBADF;
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
    struct stk_origin ours = *origin;
    ours.fd = stk_entry_dup_high(origin->fd);
    if (ours.fd < 0) {
        return true;
    }
    bool has = !is_held(&ours) || finds_hole(ours.fd, identity->size);
    stk_sys_close(ours.fd);
    return has;
}
