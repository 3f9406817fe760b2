/*
 * Proofs: by what an entry that is found on a disk is known to be whole. After a power cut a disk
 * may have an entry's name and length, and not its bytes.
 *
 * An entry says in which boot its bytes were last seen to be right: by the nanoseconds of its
 * mtime. In that boot the kernel answers for them, written back or not. In a later one they have to
 * be read: an attribute has their check sum. A file system without attributes serves its entries
 * until the next boot only. Nothing here asks a clock, waits for a disk, or has to be told that a
 * run has ended.
 *
 * Entries in memory need no proof: no power cut leaves any. No heap; safe everywhere.
 */
#ifndef STK_CACHE_PROOF_H
#define STK_CACHE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/hash.h"

#define STK_PROOF_UNIT_BYTES 4096

/* What a piece of a file adds to the file's check sum, which is the sum of all pieces, whatever
 * their order. A piece begins at a multiple of STK_PROOF_UNIT_BYTES, and ends at one or with the
 * file. */
uint64_t stk_proof_of(const void *piece, size_t bytes, uint64_t offset);

/* Gives a draft its check sum, and says that it is of this boot. 0; -errno when it is not as it was
 * any more. A file system that cannot keep this is no error. */
int stk_proof_leave(const char *draft, uint64_t check);
/* Whether the entry that looks like this is of this boot. */
bool stk_proof_is_of_this_boot(const struct stat *entry);
/* The check sum that the entry has to have; false: it was not given any. */
bool stk_proof_get(const char *entry, uint64_t *check);
/* Says of an entry that was read and found right that it is of this boot. */
void stk_proof_renew(const char *entry, const struct stat *stat);

#endif
