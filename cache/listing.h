/*
 * Listings: what a covered directory holds, remembered. A listing is an entry like a file's: whole,
 * never changed, named by the version of its directory, in the place of an entry without a leaf
 *
 *   HOME/tree/ROOT/dir/3f2a91c07bd4;       of ROOT's directory + /dir/
 *
 * counted in the tier's budget, and dropped as entries are. It holds the records of getdents64 as
 * the origin gave them, in its order, behind a head with their check sum: so no power cut and no
 * stray writer makes another listing of it. The catalogue has a record of the directory, of the
 * path with a slash at its end, which is trusted as any other (cache/trust.h): what is done to a
 * name in the directory is a change of the directory (cache/cache.h).
 *
 * By a directory's times a version can only be told where its file system keeps them. Where it may
 * not (stk_root_keeps_times), a look at them proves nothing, and a listing is made once in each
 * run.
 *
 * Nothing of a listing stays mapped but while it is in use, in memory of its own: a failing disk is
 * an error code. No heap; safe in threads, after fork and in signal handlers. Doubt is a miss. What
 * waits for another process's listing waits as for a fill.
 */
#ifndef STK_CACHE_LISTING_H
#define STK_CACHE_LISTING_H

#include "cache/cache.h"
#include "cache/trust.h"

/* As the kernel writes it (getdents64), and as struct dirent is on 64-bit machines. */
struct stk_listing_name {
    uint64_t ino;
    int64_t next; /* what telldir says behind it */
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* A listing in use. */
struct stk_listing {
    char *map; /* NULL: none */
    size_t map_bytes, bytes;
    uint64_t dev, ino; /* of the directory */
    bool inode_counts; /* false: its mount makes inode numbers up */
    uint32_t record;
};

/* The name that lies at an offset, and the offset of the next; NULL at the end. */
const struct stk_listing_name *stk_listing_at(const struct stk_listing *listing, size_t *offset);

/* Whether listings of this directory may be kept at all. */
bool stk_listing_may(const struct stk_cache *cache, const struct stk_place *directory);
/* What the catalogue knows a directory by: its path below the root, without the slash at the end.
 */
struct stk_hash128 stk_listing_key(const struct stk_root *root, const char *below, size_t length);
/* Whether the directory of this name is known, by times that tell its version. */
bool stk_listing_is_known(struct stk_cache *cache, const struct stk_place *place);
/* Remembers what a look at a place has found, if it was a directory whose times vouch for it. */
void stk_listing_learn(struct stk_cache *cache, const struct stk_place *place,
                       const struct stk_look *look);
/*
 * Whether a name is known to be absent, as its directory's listing has no such name. Programs wait
 * for files that others make, by asking again and again, so this is never older than a second:
 * then the directory's times are asked, one question for all names that are absent. Only where to
 * ask for a name is far (or for those who say that times are to be believed); never of names that
 * may be there without being listed.
 */
bool stk_listing_lacks(struct stk_cache *cache, const struct stk_place *place);
/* Whether a listing that this process has is the last that the run has seen, and nothing is known
 * to have changed since. Asks nobody. */
bool stk_listing_is_last(struct stk_cache *cache, const struct stk_place *directory,
                         const struct stk_listing *listing);
/* Gets what may be served for this directory now; may ask the origin for its identity. */
bool stk_listing_find(struct stk_cache *cache, const struct stk_place *directory,
                      struct stk_listing *out);
/*
 * Lists the directory that is open as `fd`, from its start, and keeps the listing if it may. Its
 * attributes have been asked for since it was opened, as opendir does.
 */
struct stk_listing_source {
    int fd;            /* stays the caller's */
    int64_t opened_ns; /* a time before it was opened, or before now, */
    bool by_path;      /* if that was by the place's path; else nobody knows where that leads */
};
/* False: nothing was read, or not all; the descriptor's offset is 0 again. */
bool stk_listing_fill(struct stk_cache *cache, const struct stk_place *directory,
                      const struct stk_listing_source *source, struct stk_listing *out);
/*
 * What is put off in a run (cache/deferred.h), for the command: the path below a root of a
 * directory that was listed, which ends in a slash or is empty, is looked at, so that the listing
 * is trusted; and if a point follows the slash, a process had to ask for it itself: some of the
 * directories beside it, which an earlier run has listed, are looked at before anybody asks.
 */
bool stk_listing_is_deferred(const char *below);
void stk_listing_settle(struct stk_cache *cache, const struct stk_root *root, const char *below);
void stk_listing_close(struct stk_listing *listing);

#endif
