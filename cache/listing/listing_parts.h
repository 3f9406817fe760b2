/*
 * The common ground of the listing folder's files. Safe in threads, after fork and in signal
 * handlers; no heap.
 */
#pragma once

#include "cache/catalogue/claim.h"
#include "cache/listing/listing.h"

#define STK_LISTING_MOST_BYTES                                                                     \
    (64 << 20) /* a million names; a larger directory is the origin's                              \
                */

/* The head of a listing, before its records. */
struct stk_listing_head {
    uint64_t form;
    uint64_t check; /* of all that follows */
    uint64_t whose; /* stk_listing_whose of the directory */
    uint64_t bytes; /* of the listing, with the head */
};

/* ---- bytes ---- */

struct stk_listing_head *stk_listing_head_of(const struct stk_listing *listing);
/* Reads all names of an open directory behind the head. Advances the claim of the record, unless it
 * is NULL. Returns false if there are too many names, or an error. */
bool stk_listing_read(struct stk_listing *out, int fd, struct stk_record *record);
/* Returns a hash of the directory's volume and its path there, equal in all processes. */
uint64_t stk_listing_whose(const struct stk_place *directory);
/* Writes the head. All records must be there. */
void stk_listing_seal(struct stk_listing *listing, uint64_t whose);
/* Reads an entry. Returns 0; -ENOENT: there is none; -EINVAL: it is not of this directory; -EFBIG:
 * it is longer than `most`; or another -errno. */
int stk_listing_load(const char *entry, uint64_t whose, off_t most, struct stk_listing *out);

/* ---- versions ---- */

/* Returns true if a directory's times show its version. */
bool stk_listing_is_told_by_times(const struct stk_cache *cache, const struct stk_place *directory);
/* Writes the identity that a look has found. Returns false unless it is a directory that may be
 * cached. */
bool stk_listing_identify(const struct stk_place *directory, const struct statx *answer,
                          struct stk_identity *out);
/* Returns the record of a version, or 0 if a later version might look the same: this one is too
 * young. */
uint32_t stk_listing_remember(struct stk_cache *cache, const struct stk_place *directory,
                              const struct stk_identity *identity);
/* Looks at the directory's times once. Returns true if they show the version of this record. */
bool stk_listing_validate(struct stk_cache *cache, const struct stk_place *directory,
                          uint32_t wanted);
/* Returns the claim of a record, after a wait for its filler. */
struct stk_claim stk_listing_await_claim(struct stk_record *record);
/* Notes in a listing which directory it is of. */
void stk_listing_tell_whose(const struct stk_record *record, uint32_t number,
                            struct stk_listing *out);
/* Leaves a note for the command: a process had to ask for this directory, so a scan will probably
 * want its siblings next (cache/listing/listing.h). */
void stk_listing_leave_note(struct stk_cache *cache, const struct stk_place *directory,
                            uint32_t number);
/* Reads the listing of a record that is present and fresh, of at most so many bytes. */
bool stk_listing_serve(struct stk_cache *cache, const struct stk_place *directory, uint32_t number,
                       off_t most, struct stk_listing *out);
