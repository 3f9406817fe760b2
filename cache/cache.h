/*
 * The cache as the preload sees it: whole files of covered roots, in an ordered list of tiers. It
 * knows nothing of interposition; the caller opens the origin by whatever means it has and hands
 * the descriptor in.
 *
 *   stk_cache_place   is this path covered, and which file is it?
 *   stk_cache_ask     may an open be served?  -> open the entry, or open the origin and
 *   stk_cache_fill    -> put it into the cache, if it may
 *   stk_cache_stat    what does stat say?     -> answer, or
 *   stk_cache_ask_stat                        -> ask the origin, and remember it
 *   stk_cache_mark_*, stk_cache_distrust*     what the program does to its files
 *
 * Doubt is a miss: every failure ends in an answer that sends the caller to the origin. Nothing
 * here uses the heap, prints, or touches errno; after stk_cache_open everything is safe in threads,
 * after fork and vfork and in signal handlers. Nothing blocks without bound: a wait for another
 * process's fill lasts while that makes progress, and 2 s beyond.
 */
#ifndef STK_CACHE_CACHE_H
#define STK_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "base/path.h"
#include "cache/catalogue.h"
#include "cache/changes.h"
#include "cache/group.h"
#include "cache/notice.h"
#include "cache/root.h"
#include "cache/run.h"
#include "cache/tier.h"

struct stk_cache {
    struct stk_options options;
    struct stk_roots roots;
    struct stk_roots outer;     /* of the runs around this one: never served, but changes count */
    struct stk_notices notices; /* to runs whose catalogue this process cannot join */
    struct stk_catalogue catalogue; /* header NULL: nothing is served */
    /* In the order in which they are filled; behind the last one `shared` is NULL. */
    union {
        struct stk_tier tier; /* the first; shared NULL: nothing is filled */
        struct stk_tier tiers[STK_TIERS];
    };
    struct stk_group group; /* that shares some of them */
    struct stk_run run;
    int64_t run_start_ns;
    bool passes; /* what there is no room for may come for a moment (cache/passing.h) */
};

/* The tier behind this one, NULL: it is the last; the first, if it is NULL. */
static inline const struct stk_tier *stk_cache_next_tier(const struct stk_cache *cache,
                                                         const struct stk_tier *tier)
{
    const struct stk_tier *next = tier == NULL ? cache->tiers : tier + 1;
    return next < cache->tiers + STK_TIERS && next->shared != NULL ? next : NULL;
}

/* One covered path. `dirfd` and `path` are the program's own and reach the origin. */
struct stk_place {
    const struct stk_root *root;
    int dirfd;
    const char *path;
    struct stk_hash128 key;
    char below[STK_PATH_BYTES]; /* folded, relative to the root */
};

/* Sets up from parsed options and spelled roots, whose text must stay; once per process, by one
 * thread. Always succeeds: what is missing (no tmpfs, no tier) only means that less is served. The
 * cache may live in memory that is zero except for `outer`, which may hold spelled roots. */
void stk_cache_open(struct stk_cache *cache, const struct stk_options *options,
                    const struct stk_roots *spelling);

/* Whether `absolute` lies in a usable root and can be answered for; fills `place`, in whose `below`
 * `absolute` may lie, to save a buffer. */
bool stk_cache_place(struct stk_cache *cache, const char *absolute, int dirfd, const char *path,
                     struct stk_place *place);

/*
 * The same for the directory of that name, which may end in slashes and be the root itself. Its
 * `below` ends in a slash, unless it is the root's: it is no file's, and listings are known by it
 * (cache/listing.h).
 */
bool stk_cache_place_directory(struct stk_cache *cache, const char *absolute, int dirfd,
                               const char *path, struct stk_place *place);

/* ---- opening ---- */

enum stk_answer {
    STK_ANSWER_HIT,   /* open ask.entry */
    STK_ANSWER_FILL,  /* open the origin, then stk_cache_fill */
    STK_ANSWER_ORIGIN /* open the origin; ask.why says why */
};

struct stk_ask {
    enum stk_bypass why; /* of an answer ORIGIN */
    uint32_t record;     /* 0: not known */
    unsigned tier;       /* of a hit: its number in the catalogue */
    uint64_t size;       /* bytes, where the record is known */
    bool plain_leaf;     /* the path is known not to end in a symbolic link */
    int64_t began_ns; /* when it began to wait for the origin or another process; 0: it did not */
    char entry[STK_PATH_BYTES];
};

/* What may be done for a read-only open of this place. May ask the origin for its identity, and may
 * wait for another process's fill. */
enum stk_answer stk_cache_ask(struct stk_cache *cache, const struct stk_place *place,
                              struct stk_ask *ask);
/* Tells that the entry of a hit was not there: the next ask will say FILL. */
void stk_cache_lost(struct stk_cache *cache, const struct stk_ask *ask);

/* Has the entry of a hit put into the shared tier, if there is one that has not got it. */
void stk_cache_publish(struct stk_cache *cache, const struct stk_place *place,
                       const struct stk_ask *ask);

/* How one open ended; for the counters. */
struct stk_outcome {
    enum stk_count kind; /* STK_COUNT_HITS, STK_COUNT_FILLS, or STK_COUNT_OPENS for a bypass */
    enum stk_bypass why; /* of a bypass; NONE: not to be counted (not a regular file) */
    unsigned tier;       /* of a hit: its number in the catalogue */
    bool fetched;        /* of a fill: by a shared tier, and not by the origin */
    uint32_t record;
    uint64_t size;
    int64_t wait_ns;
    bool members; /* a hit in another member's home (cache/group.h) */
    /* Of a fill that does not stay: to be told when it is open, or not wanted. */
    struct stk_passing *passing;
};

/*
 * Takes the open origin of an answer FILL and tries to put it into the cache, or finds that another
 * process has. True: `entry` names the entry to use instead. The origin's descriptor stays open,
 * its offset untouched, the caller's; `opened_ns` is a time before it was opened, on
 * CLOCK_BOOTTIME: of the path it says what was true then. `outcome` is filled but for wait_ns.
 */
bool stk_cache_fill(struct stk_cache *cache, const struct stk_place *place, int origin_fd,
                    int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome);

/* Opens the entry that a fill named, with these flags: the descriptor, or -errno. */
int stk_cache_open_entry(struct stk_cache *cache, const char *entry,
                         const struct stk_outcome *outcome, int flags);

/* Why a version is not to be cached, as far as it tells by itself, or NONE. Needs no catalogue. */
enum stk_bypass stk_cache_reason_against(const struct stk_cache *cache,
                                         const struct stk_place *place,
                                         const struct stk_identity *identity);
/* Whether a tier, whose home is known, has an entry of this version. Needs no catalogue. */
bool stk_cache_has_entry(const struct stk_cache *cache, const struct stk_place *place,
                         const struct stk_identity *identity);
/* Where that entry lies, or would lie, in the first tier: false when it has no place. */
bool stk_cache_name_entry(const struct stk_cache *cache, const struct stk_place *place,
                          const struct stk_identity *identity, char out[STK_PATH_BYTES]);

/* Counts an open. */
void stk_cache_count(struct stk_cache *cache, const struct stk_outcome *outcome);

/* Whether anything is known of this place. */
bool stk_cache_is_known(struct stk_cache *cache, const struct stk_place *place);
/* How often files were opened for writing, by any process: whoever finds it changed since it asked
 * asks again. */
uint64_t stk_cache_writings(const struct stk_cache *cache);
/* Whether this file was, in this run, by this name or its inode. */
bool stk_cache_is_written(struct stk_cache *cache, const struct stk_place *place,
                          const struct stat *stat);

/* ---- metadata ---- */

/* The origin's identity if it is known and trusted; `nofollow` as lstat. No system call. */
bool stk_cache_stat(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                    struct stk_identity *out);
/*
 * Asks the origin the same, past its client's caches, and remembers what it says of a regular file.
 * 0, with all basic fields and the birth time; -errno as a stat of the path ends; or -EAGAIN: not
 * asked.
 */
int stk_cache_ask_stat(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                       struct statx *out);
/* Whether it is known that there is no such name. May ask the origin of its directory. */
bool stk_cache_is_absent(struct stk_cache *cache, const struct stk_place *place);
/* Whether this user is known to be able to read the file: its entry is there. */
bool stk_cache_is_readable(struct stk_cache *cache, const struct stk_place *place);

/* What is known of the file whose entry has this inode number; `record` as the hit or fill told. */
bool stk_cache_stat_entry(struct stk_cache *cache, uint32_t record, uint64_t entry_ino,
                          struct stk_identity *out);
/*
 * The same from the entry's path (of /proc/self/fd/N): writes the origin's path, which is empty if
 * no root of this process leads there, and gives the record's number if the catalogue knows the
 * version, else 0. False: not an entry of ours, or a directory's, which no program has opened.
 */
bool stk_cache_find_entry(struct stk_cache *cache, const char *entry, char origin[STK_PATH_BYTES],
                          uint32_t *record);

/* Whether this entry is of another version than the one that was found in this run, or the last one
 * that was refused. Files that nobody has asked for have entries that may be right. */
bool stk_cache_is_superseded(struct stk_cache *cache, const char *entry);

/* What lies at that path by now may be another file. Compares what was found there with what the
 * entry is a copy of, as far as the catalogue knows it; else by the version in the entry's name. */
enum stk_likeness { STK_ANOTHER_FILE, STK_SAME_FILE, STK_SAME_VERSION };
enum stk_likeness stk_cache_compare_entry(struct stk_cache *cache, const char *entry,
                                          const struct stk_identity *found);

/* ---- writes through the program ---- */

/* Before a call that opens for writing, creates or truncates: not cached again in this run. The
 * mark can be taken back when the call has failed. */
void stk_cache_mark_written(struct stk_cache *cache, const struct stk_place *place,
                            struct stk_mark *mark);
void stk_cache_unmark_written(struct stk_cache *cache, const struct stk_mark *mark);
/* After such a call: marks the file by its inode, for its other names. */
void stk_cache_mark_inode(struct stk_cache *cache, const struct stat *stat);
/* Counts all files below all roots of the catalogue as written in this run. One of them was
 * written, and which one is unknown. */
void stk_cache_mark_all_written(struct stk_cache *cache);
/* Before and after a call that changes a name or metadata: the origin is asked again. */
void stk_cache_distrust(struct stk_cache *cache, const struct stk_place *place);
/* The same for a file or directory by its inode, whatever names lead to it. */
void stk_cache_distrust_inode(struct stk_cache *cache, const struct stat *stat);
/* The same for the listing of the directory that holds this place. */
void stk_cache_distrust_listing(struct stk_cache *cache, const struct stk_place *place);
/* Makes processes ask the origin again for everything below every root of the catalogue: a
 * directory or symbolic link was renamed or replaced. Another process may have other roots, or the
 * same roots in another view. */
void stk_cache_distrust_all(struct stk_cache *cache);

#endif
