/*
 * Listings, as their parts know them: cache/listing.c has their bytes, in memory and in a tier;
 * listing_find.c finds what may be served; listing_fill.c makes them; listing_settle.c looks at
 * what was put off; listing_absent.c tells of names that they lack. Safe in threads, after fork and
 * in signal handlers; no heap.
 */
#ifndef STK_CACHE_LISTING_PARTS_H
#define STK_CACHE_LISTING_PARTS_H

#include "cache/claim.h"
#include "cache/listing.h"

#define STK_LISTING_FORM       UINT64_C(0x31676e697473696c) /* counted up when the form changes */
#define STK_LISTING_MOST_BYTES (64 << 20) /* a million names; what is larger is the origin's */

/* What lies before the records. */
struct stk_listing_head {
    uint64_t form;
    uint64_t check; /* of all that follows it */
    uint64_t key;   /* of the directory's path */
    uint64_t bytes; /* all of it, the head included */
};

/* ---- bytes ---- */

struct stk_listing_head *stk_listing_head_of(const struct stk_listing *listing);
/* Makes room for so many bytes; false: too many, or there is no memory. */
bool stk_listing_grow(struct stk_listing *listing, size_t bytes);
/* Writes the head, when all the rest is there. */
void stk_listing_seal(struct stk_listing *listing, uint64_t key);
/* Reads an entry. 0; -ENOENT: there is none; -EINVAL: it is none of this directory; -EFBIG: it has
 * more than so many bytes; or another -errno. */
int stk_listing_load(const char *entry, uint64_t key, off_t most, struct stk_listing *out);

/* ---- versions ---- */

/* Whether a directory's times tell its version. */
bool stk_listing_is_told_by_times(const struct stk_cache *cache, const struct stk_place *directory);
/* The identity of what a look has found, if it is a directory that may be cached. */
bool stk_listing_identify(const struct stk_place *directory, const struct statx *answer,
                          struct stk_identity *out);
/* The record of a version, or 0: it is too young to be told from the next. */
uint32_t stk_listing_remember(struct stk_cache *cache, const struct stk_place *directory,
                              const struct stk_identity *identity);
/* One look at the directory's times: true if they vouch for what this record has. */
bool stk_listing_validate(struct stk_cache *cache, const struct stk_place *directory,
                          uint32_t wanted);
/* The claim of a record when nobody fills it; waits for who does. */
struct stk_claim stk_listing_settled_claim(struct stk_record *record);
bool stk_listing_name_entry(struct stk_cache *cache, const struct stk_place *directory,
                            const struct stk_record *record, unsigned index, char *entry);
/* Notes which directory a listing is of. */
void stk_listing_tell_whose(const struct stk_record *record, uint32_t number,
                            struct stk_listing *out);
/* Reads the listing of a record that is present and trusted; at most so many bytes. */
bool stk_listing_serve(struct stk_cache *cache, const struct stk_place *directory, uint32_t number,
                       off_t most, struct stk_listing *out);

#endif
