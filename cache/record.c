/* Records to identities and back. See cache/record.h. */
#include "cache/record.h"

#include <sys/sysmacros.h>

static uint32_t pack_dev(uint64_t dev)
{
    return (uint32_t)(major(dev) << 20 | (minor(dev) & 0xfffff));
}

static uint64_t unpack_dev(uint32_t dev)
{
    return makedev(dev >> 20, dev & 0xfffff);
}

uint64_t stk_record_dev(const struct stk_record *record)
{
    return unpack_dev(record->dev);
}

void stk_record_set_identity(struct stk_record *record, const struct stk_identity *identity,
                             uint64_t name)
{
    record->name = name;
    record->size = identity->size;
    record->blksize = identity->blksize;
    record->nlink = identity->nlink;
    record->mtime_ns = identity->mtime_ns;
    record->ctime_ns = identity->ctime_ns;
    record->atime_ns = identity->atime_ns;
    record->btime_ns = identity->btime_ns;
    record->ino = identity->ino;
    record->blocks = identity->blocks;
    record->uid = identity->uid;
    record->gid = identity->gid;
    record->dev = pack_dev(identity->dev);
    record->mode = identity->mode;
}

void stk_record_get_identity(const struct stk_record *record, struct stk_identity *out)
{
    *out = (struct stk_identity){
        .dev = unpack_dev(record->dev),
        .ino = record->ino,
        .size = record->size,
        .blocks = record->blocks,
        .mode = record->mode,
        .nlink = record->nlink,
        .uid = record->uid,
        .gid = record->gid,
        .blksize = record->blksize,
        .mtime_ns = record->mtime_ns,
        .ctime_ns = record->ctime_ns,
        .atime_ns = record->atime_ns,
        .btime_ns = record->btime_ns,
    };
}

bool stk_record_describes(const struct stk_record *record, const struct stk_identity *identity)
{
    struct stk_identity known;
    stk_record_get_identity(record, &known);
    return stk_identity_same_version(&known, identity) && known.mode == identity->mode &&
           known.uid == identity->uid && known.gid == identity->gid &&
           known.nlink == identity->nlink && known.blocks == identity->blocks &&
           known.blksize == identity->blksize;
}
