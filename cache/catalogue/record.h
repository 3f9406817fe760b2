/*
 * One version of one covered file, in two cache lines. An open needs the first line, a stat also
 * the second.
 *
 * A record is allocated zeroed. Its creator writes `key` and the identity (all fields that are not
 * atomic, and `ino`) once, before the index shows the record; they never change again. A new
 * version of the file is a new record. Whatever changes is a single atomic word, so a process
 * killed at any instruction leaves nothing half done. Records are never freed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/identity.h"

struct stk_record {
    uint64_t key;           /* of root and path below it: the half that the index lacks */
    uint64_t name;          /* stk_identity_name(), with the record's check sum above it */
    _Atomic uint64_t claim; /* state, leaf, tier, filler, progress: cache/catalogue/claim.h */
    _Atomic int64_t
        validated_ns; /* a look at the origin that began then found this version; 0: no look did;
                         below 0: the look was at a descriptor that was opened after that time */
    uint64_t size;    /* bytes */
    _Atomic uint64_t entry_ino; /* inode number of the entry in its tier; 0: unknown */
    uint32_t previous;          /* record of the version before this one; 0: none */
    uint32_t blksize, nlink;
    uint32_t inode_changes; /* 1: the mount makes `ino` up */
    /* second line */
    int64_t mtime_ns, ctime_ns, atime_ns, btime_ns;
    _Atomic uint64_t
        ino; /* on a mount that makes inode numbers up: the last one that it returned */
    uint64_t blocks;
    uint32_t uid, gid;
    uint32_t dev; /* as the kernel counts: 12 bits of major, 20 of minor */
    uint32_t mode;
};

_Static_assert(sizeof(struct stk_record) == 128, "a record is two cache lines");

/* Writes the identity. Only the creator calls this, after it has set the key. */
void stk_record_set_identity(struct stk_record *record, const struct stk_identity *identity,
                             uint64_t name, bool inode_counts);
/* Stores the inode number that the mount returns now, if the mount makes numbers up. The check sum
 * does not cover it: a damaged number is as wrong as the others of such a mount. */
void stk_record_set_inode(struct stk_record *record, uint64_t ino);
/* Returns the name of a record's version. It is not checked: a wrong name leads to no entry. */
static inline uint64_t stk_record_name(const struct stk_record *record)
{
    return record->name & ((UINT64_C(1) << STK_NAME_BITS) - 1);
}
/* Reads the identity of a record. Returns false if the record is damaged: other processes of this
 * user can write to the catalogue, and nothing checks later what a stat returned. */
bool stk_record_get_identity(const struct stk_record *record, struct stk_identity *out);
/* Returns the device of a record, as st_dev. */
uint64_t stk_record_dev(const struct stk_record *record);
/* Returns true if a record is undamaged and describes this version, with equal mode, owner and link
 * count. An inode number that the mount makes up may differ. */
bool stk_record_describes(const struct stk_record *record, const struct stk_identity *identity);
