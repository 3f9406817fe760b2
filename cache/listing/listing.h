/*
 * The names in a covered directory, remembered. A listing is an entry like a file's: whole, never
 * changed, named by the version of its directory, in the place of an entry without a leaf
 *
 *   HOME/tree/ROOT/dir/3f2a91c07bd4;       of ROOT's directory + /dir/
 *
 * It counts in the tier's budget, and is dropped as entries are. It holds the records of getdents64
 * in the origin's order, behind a head with their checksum: a power cut or a stray write makes it
 * invalid, and never another listing. The catalogue has a record of the directory, under its path
 * with a slash at the end, which is fresh or not like any other (cache/version/freshness.h). A
 * change of a name in the directory is a change of the directory (cache/cache.h).
 *
 * A directory's times show its version only where its file system keeps them. Where it may not
 * (stk_root_keeps_times), a look at the times proves nothing, and a listing is made once in each
 * run.
 *
 * A listing is mapped only while it is in use, in memory of its own: a failing disk is an error
 * code. No heap; safe in threads, after fork and in signal handlers. Doubt is a miss. A wait for
 * another process's listing is like a wait for a fill.
 */
#pragma once

#include "cache/cache_core.h"
#include "cache/cache_place.h"
#include "cache/version/freshness.h"

/* As the kernel writes it (getdents64), and as struct dirent is on 64-bit machines. */
struct stk_listing_name {
    uint64_t ino;
    int64_t next; /* the result of telldir behind this name */
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

/* Returns the name at an offset, and sets the offset of the next. Returns NULL at the end. */
const struct stk_listing_name *stk_listing_at(const struct stk_listing *listing, size_t *offset);

/* Returns true if listings of this directory may be kept. */
bool stk_listing_may(const struct stk_cache *cache, const struct stk_place *directory);
/* Returns true if the directory of this name is known by times that show its version. */
bool stk_listing_is_known(struct stk_cache *cache, const struct stk_place *place);
/* Remembers a look at a place that has found a directory whose times show its version. */
void stk_listing_learn(struct stk_cache *cache, const struct stk_place *place,
                       const struct stk_look *look);
/*
 * Returns true if a name is known to be absent: its directory's listing lacks it. Programs poll for
 * files that others make, so the answer is never older than a second; then one look at the
 * directory's times serves all its absent names. Used only where a question for a name goes to a
 * server, or where the user says that times may be believed. Never used for names that may exist
 * without being listed.
 */
bool stk_listing_lacks(struct stk_cache *cache, const struct stk_place *place);
/* Returns true if a listing of this process is the last one that the run has seen, and no change is
 * known since. Asks no server. */
bool stk_listing_is_last(struct stk_cache *cache, const struct stk_place *directory,
                         const struct stk_listing *listing);
/* Gets the listing that may be served for this directory now. May ask the origin for its identity.
 */
bool stk_listing_find(struct stk_cache *cache, const struct stk_place *directory,
                      struct stk_listing *out);
/*
 * Lists the directory that is open as `fd`, from its start, and keeps the listing if that is
 * allowed. The caller has asked for the directory's attributes since it opened it, as opendir does.
 */
struct stk_listing_source {
    int fd;            /* stays the caller's */
    int64_t opened_ns; /* a time before it was opened, */
    bool by_path;      /* if the place's path led to it; else a time before now */
};
/* Returns false if not all could be read; the descriptor's offset is then 0 again. */
bool stk_listing_fill(struct stk_cache *cache, const struct stk_place *directory,
                      const struct stk_listing_source *source, struct stk_listing *out);
/*
 * Revalidate a directory for the command, from a queued path (cache/run/revalidation_queue.h): a
 * path below a root that ends in a slash or is empty. The directory is looked at, so that its
 * listing is fresh.
 *
 * A point behind the slash makes the path a note: a process had to list or look at the directory
 * itself. A scan will probably want the directories beside it next.
 */
bool stk_listing_is_queued(const char *below);
bool stk_listing_is_note(const char *below);
void stk_listing_revalidate(struct stk_cache *cache, const struct stk_root *root,
                            const char *below);
void stk_listing_close(struct stk_listing *listing);
