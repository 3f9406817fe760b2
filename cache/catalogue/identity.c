#include "cache/catalogue/identity.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"

static bool time_to_ns(struct statx_timestamp time, int64_t *out)
{
    const int64_t limit = INT64_MAX / STK_NS_PER_S - 1;
    if (time.tv_sec > limit || time.tv_sec < -limit) {
        return false;
    }
    *out = time.tv_sec * STK_NS_PER_S + time.tv_nsec;
    return true;
}

static struct timespec ns_to_timespec(int64_t ns)
{
    int64_t seconds = ns / STK_NS_PER_S - (ns % STK_NS_PER_S < 0);
    return (struct timespec){.tv_sec = seconds, .tv_nsec = (long)(ns - seconds * STK_NS_PER_S)};
}

bool stk_identity_from_statx(struct stk_identity *out, const struct statx *in)
{
    *out = (struct stk_identity){
        .dev = makedev(in->stx_dev_major, in->stx_dev_minor),
        .ino = in->stx_ino,
        .size = in->stx_size,
        .blocks = in->stx_blocks,
        .mode = in->stx_mode,
        .nlink = in->stx_nlink,
        .uid = in->stx_uid,
        .gid = in->stx_gid,
        .blksize = in->stx_blksize,
        .btime_ns = STK_NO_TIME,
    };
    if ((in->stx_mask & STATX_BTIME) != 0 && !time_to_ns(in->stx_btime, &out->btime_ns)) {
        return false;
    }
    return time_to_ns(in->stx_mtime, &out->mtime_ns) && time_to_ns(in->stx_ctime, &out->ctime_ns) &&
           time_to_ns(in->stx_atime, &out->atime_ns);
}

bool stk_identity_of_file(int fd, int sync, struct stk_identity *out)
{
    struct statx answer;
    return stk_sys_statx(fd, "", AT_EMPTY_PATH | sync, STATX_BASIC_STATS | STATX_BTIME, &answer) ==
               0 &&
           S_ISREG(answer.stx_mode) && stk_identity_from_statx(out, &answer);
}

void stk_identity_to_stat(const struct stk_identity *in, struct stat *out)
{
    memset(out, 0, sizeof *out);
    out->st_dev = in->dev;
    out->st_ino = in->ino;
    out->st_mode = in->mode;
    out->st_nlink = in->nlink;
    out->st_uid = in->uid;
    out->st_gid = in->gid;
    out->st_size = (off_t)in->size;
    out->st_blksize = (blksize_t)in->blksize;
    out->st_blocks = (blkcnt_t)in->blocks;
    out->st_atim = ns_to_timespec(in->atime_ns);
    out->st_mtim = ns_to_timespec(in->mtime_ns);
    out->st_ctim = ns_to_timespec(in->ctime_ns);
}

void stk_identity_to_statx(const struct stk_identity *in, struct statx *out)
{
    struct stat stat;
    stk_identity_to_stat(in, &stat);
    stk_sys_statx_from_stat(out, &stat);
    if (in->btime_ns != STK_NO_TIME) {
        out->stx_mask |= STATX_BTIME;
        out->stx_btime = stk_sys_timestamp(ns_to_timespec(in->btime_ns));
    }
}

uint64_t stk_identity_name(const struct stk_identity *identity, bool inode_counts, uint64_t volume)
{
    const uint64_t parts[] = {
        identity->size,
        (uint64_t)identity->mtime_ns,
        (uint64_t)identity->ctime_ns,
        inode_counts ? identity->ino : 0,
        volume,
    };
    return stk_hash_64(parts, sizeof parts, 0) >> (64 - STK_NAME_BITS);
}

bool stk_identity_same_file(const struct stk_identity *a, const struct stk_identity *b)
{
    bool born = a->btime_ns != STK_NO_TIME && b->btime_ns != STK_NO_TIME;
    return a->dev == b->dev && a->ino == b->ino && (!born || a->btime_ns == b->btime_ns);
}

bool stk_identity_same_version(const struct stk_identity *a, const struct stk_identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}
