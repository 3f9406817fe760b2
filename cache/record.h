/*
 * One record of the catalogue: one version of one covered file, in two cache lines. The first is
 * what an open needs, the second what a stat needs beside it.
 *
 * Life: allocated zeroed; `key` and the identity (everything not atomic, and `ino`) are written
 * once by its creator, before the index shows it; they never change again. A new version of the
 * file is a new record. What changes is single atomic words, so that a process killed at any
 * instruction leaves nothing half done. Records are never freed.
 */
#ifndef STK_CACHE_RECORD_H
#define STK_CACHE_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/identity.h"

struct stk_record {
    uint64_t key;           /* of root and path below it: the half that the index lacks */
    uint64_t name;          /* stk_identity_name(), with the record's check sum above it */
    _Atomic uint64_t claim; /* state, leaf, tier, filler, progress: cache/claim.h */
    _Atomic int64_t
        validated_ns;           /* a look at the origin that began then found it; 0: none did; below
                                   0: only its descriptor was looked at, opened after that */
    uint64_t size;              /* bytes */
    _Atomic uint64_t entry_ino; /* inode number of the entry in its tier; 0: unknown */
    uint32_t previous;          /* record of the version before this one; 0: none */
    uint32_t blksize, nlink;
    uint32_t inode_changes; /* 1: the mount makes `ino` up */
    /* second line */
    int64_t mtime_ns, ctime_ns, atime_ns, btime_ns;
    _Atomic uint64_t ino; /* of a mount that makes numbers up: the last one that was told */
    uint64_t blocks;
    uint32_t uid, gid;
    uint32_t dev; /* as the kernel counts: 12 bits of major, 20 of minor */
    uint32_t mode;
};

_Static_assert(sizeof(struct stk_record) == 128, "a record is two cache lines");

/* Writes the identity; the creator only, when the key is there. */
void stk_record_set_identity(struct stk_record *record, const struct stk_identity *identity,
                             uint64_t name, bool inode_counts);
/* What the mount says now of an inode number that it makes up; no other changes. Not under the
 * check sum: damage makes it a wrong number, as there are many on such mounts. */
void stk_record_set_inode(struct stk_record *record, uint64_t ino);
/* The name of a record's version. Not checked: it leads to an entry of that name or none. */
static inline uint64_t stk_record_name(const struct stk_record *record)
{
    return record->name & ((UINT64_C(1) << STK_NAME_BITS) - 1);
}
/* Reads the identity of a record. False when the record is damaged: the catalogue is a file
 * that others of this user can write to, and what stat says is never looked at again. */
bool stk_record_get_identity(const struct stk_record *record, struct stk_identity *out);
/* The device of a record, as st_dev. */
uint64_t stk_record_dev(const struct stk_record *record);
/* Whether a record is whole and describes exactly this version, and equal mode, owner and
 * links; an inode number that is made up may be any. */
bool stk_record_describes(const struct stk_record *record, const struct stk_identity *identity);

#endif
