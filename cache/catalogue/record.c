#include "cache/catalogue/record.h"

#include <sys/sysmacros.h>

static bool has_inode(const struct stk_record *record)
{
    return record->inode_changes == 0;
}

static uint64_t load_inode(const struct stk_record *record)
{
    return atomic_load_explicit(&record->ino, memory_order_relaxed);
}

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

/* Returns the check sum of all constant fields, in the bits that the name leaves. Every stat
 * computes it: one multiplication a word, none of which waits for another. The factors are odd and
 * random. */
static uint64_t check_of(const struct stk_record *record)
{
    uint64_t sum = record->key * UINT64_C(0xd1b54a32d192ed03) +
                   stk_record_name(record) * UINT64_C(0xaef17502108ef2d9) +
                   record->size * UINT64_C(0x9fb21c651e98df25) +
                   (uint64_t)record->mtime_ns * UINT64_C(0xe7037ed1a0b428db) +
                   (uint64_t)record->ctime_ns * UINT64_C(0x8ebc6af09c88c6e3) +
                   (uint64_t)record->atime_ns * UINT64_C(0x589965cc75374cc3) +
                   (uint64_t)record->btime_ns * UINT64_C(0x1d8e4e27c47d124f) +
                   (has_inode(record) ? load_inode(record) : 0) * UINT64_C(0xeb44accab455d165) +
                   record->blocks * UINT64_C(0xc2b2ae3d27d4eb4f);
    sum += (record->blksize | (uint64_t)record->nlink << 32) * UINT64_C(0x165667b19e3779f9) +
           (record->uid | (uint64_t)record->gid << 32) * UINT64_C(0x94d049bb133111eb) +
           (record->dev | (uint64_t)record->mode << 32) * UINT64_C(0xbf58476d1ce4e5b9) +
           record->inode_changes * UINT64_C(0xa0761d6478bd642f);
    return sum >> STK_NAME_BITS;
}

void stk_record_set_identity(struct stk_record *record, const struct stk_identity *identity,
                             uint64_t name, bool inode_counts)
{
    record->name = name;
    record->size = identity->size;
    record->blksize = identity->blksize;
    record->nlink = identity->nlink;
    record->mtime_ns = identity->mtime_ns;
    record->ctime_ns = identity->ctime_ns;
    record->atime_ns = identity->atime_ns;
    record->btime_ns = identity->btime_ns;
    atomic_store_explicit(&record->ino, identity->ino, memory_order_relaxed);
    record->blocks = identity->blocks;
    record->uid = identity->uid;
    record->gid = identity->gid;
    record->dev = pack_dev(identity->dev);
    record->mode = identity->mode;
    record->inode_changes = !inode_counts;
    record->name |= check_of(record) << STK_NAME_BITS;
}

void stk_record_set_inode(struct stk_record *record, uint64_t ino)
{
    if (!has_inode(record) && load_inode(record) != ino) {
        atomic_store_explicit(&record->ino, ino, memory_order_relaxed);
    }
}

bool stk_record_get_identity(const struct stk_record *record, struct stk_identity *out)
{
    *out = (struct stk_identity){
        .dev = unpack_dev(record->dev),
        .ino = load_inode(record),
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
    return record->name >> STK_NAME_BITS == check_of(record);
}

bool stk_record_describes(const struct stk_record *record, const struct stk_identity *identity)
{
    struct stk_identity known;
    if (!stk_record_get_identity(record, &known)) {
        return false;
    }
    known.ino = has_inode(record) ? known.ino : identity->ino;
    return stk_identity_same_version(&known, identity) && known.mode == identity->mode &&
           known.uid == identity->uid && known.gid == identity->gid &&
           known.nlink == identity->nlink && known.blocks == identity->blocks &&
           known.blksize == identity->blksize;
}
