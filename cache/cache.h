/*
 * The cache as programs see it: whole files of covered roots, in an ordered list of tiers. It knows
 * nothing of interposition. The caller opens the origin by its own means and hands in the
 * descriptor.
 *
 *   stk_cache_place         does a root cover this path, and which file is it?
 *   stk_cache_lookup        may the cache serve an open? Then open the entry; else open the origin
 *   stk_cache_fill          put that file into the cache, if it may be there
 *   stk_cache_stat          what is known for a stat?
 *   stk_cache_stat_origin   ask the origin, and remember its answer
 *   stk_cache_mark_*        what the program does to its files
 *   stk_cache_distrust*     what it may have done to them
 *
 * Doubt is a miss: every failure ends in an answer that sends the caller to the origin. The
 * functions allocate no heap, print nothing and leave errno alone. After stk_cache_open they are
 * safe in threads, after fork and vfork, and in signal handlers. No function blocks without bound:
 * a wait for another process's fill ends 2 s after that fill stops making progress.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache_core.h"
#include "cache/cache_place.h"

/* ---- opening ---- */

enum stk_answer {
    STK_ANSWER_HIT,   /* open lookup.entry */
    STK_ANSWER_FILL,  /* open the origin, then stk_cache_fill */
    STK_ANSWER_ORIGIN /* open the origin; lookup.why says why */
};

struct stk_lookup {
    enum stk_bypass why; /* of an answer ORIGIN */
    uint32_t record;     /* 0: not known */
    unsigned tier;       /* of a hit: its number in the catalogue */
    uint64_t size;       /* bytes, where the record is known */
    bool plain_leaf;     /* the path is known not to end in a symbolic link */
    int64_t began_ns;    /* when the wait for the origin or another process began; 0: no wait */
    bool awaited;        /* another process was filling it */
    char entry[STK_PATH_BYTES];
};

/* Returns what a read-only open of this place may use. May ask the origin for its identity, and may
 * wait for another process's fill. */
enum stk_answer stk_cache_lookup(struct stk_cache *cache, const struct stk_place *place,
                                 struct stk_lookup *lookup);
/* Notes that the entry of a hit was not there. The next look-up then returns FILL. */
void stk_cache_lost(struct stk_cache *cache, const struct stk_lookup *lookup);

/* Asks for an entry, given by its path, to be put into the shared tier, which lacks it, if it is
 * known to be whole and of its file's current version. Waits for a place. For the process that
 * serves the tier. */
void stk_cache_publish_entry(struct stk_cache *cache, const char *entry, const struct stat *stat);

/* How one open ended; for the counters. */
struct stk_outcome {
    enum stk_count kind; /* STK_COUNT_HITS, STK_COUNT_FILLS, or STK_COUNT_OPENS for a bypass */
    enum stk_bypass why; /* of a bypass; NONE: not to be counted (not a regular file) */
    unsigned tier;       /* of a hit: its number in the catalogue */
    bool fetched;        /* of a fill: by a shared tier, and not by the origin */
    uint32_t record;
    uint64_t size;
    int64_t wait_ns;
    bool awaited; /* a hit: it was filled since the open began */
    /* A fill that does not stay: the caller reports when the entry is open, or that it is not
     * wanted. */
    struct stk_transient *transient;
};

/*
 * Takes the open origin of an answer FILL and tries to put it into the cache, or finds that another
 * process has done so. Returns true if the caller shall use `entry` instead. The origin's
 * descriptor stays open and the caller's, with its offset unchanged. `opened_ns` is a time before
 * the origin was opened, on CLOCK_BOOTTIME: what is then known of the path was true at that time.
 * Fills `outcome` except for wait_ns.
 */
bool stk_cache_fill(struct stk_cache *cache, const struct stk_place *place, int origin_fd,
                    int64_t opened_ns, char entry[STK_PATH_BYTES], struct stk_outcome *outcome);

/*
 * As stk_cache_fill, without a descriptor of the origin: asks for the file's version by its path,
 * and has the shared tier copy that. Does so only if the shared tier has given the run's last file,
 * which a process of this user with the same rights had opened at the origin. After false the
 * origin is to be opened.
 */
bool stk_cache_fetch(struct stk_cache *cache, const struct stk_place *place,
                     char entry[STK_PATH_BYTES], struct stk_outcome *outcome);
/* Shows the command a file that the job got so. Call it after stk_cache_count: reading ahead begins
 * with files that the job has opened. */
void stk_cache_note_fetched(struct stk_cache *cache, const struct stk_place *place);

/* Returns why a version may not be cached, as far as the version alone shows it, or NONE. Needs no
 * catalogue. */
enum stk_bypass stk_cache_reason_against(const struct stk_cache *cache,
                                         const struct stk_place *place,
                                         const struct stk_identity *identity);
/* Returns true if a tier with a known home has an entry of this version. Needs no catalogue. */
bool stk_cache_has_entry(const struct stk_cache *cache, const struct stk_place *place,
                         const struct stk_identity *identity);
/* Writes the path that the version's entry has, or would have, in the first tier. Returns false if
 * it has no path there. */
bool stk_cache_name_entry(const struct stk_cache *cache, const struct stk_place *place,
                          const struct stk_identity *identity, char out[STK_PATH_BYTES]);

/* Counts an open. */
void stk_cache_count(struct stk_cache *cache, const struct stk_outcome *outcome);

/* Returns true if the catalogue has a record of this place. */
bool stk_cache_is_known(struct stk_cache *cache, const struct stk_place *place);
/* Returns how often any process opened a file for writing. A caller that finds the number changed
 * since its look-up looks up again. */
uint64_t stk_cache_writings(const struct stk_cache *cache);
/* Returns true if this file was opened for writing in this run, by this name or by its inode. */
bool stk_cache_is_written(struct stk_cache *cache, const struct stk_place *place,
                          const struct stat *stat);

/* ---- metadata ---- */

/* Writes the origin's identity if it is known and fresh. `nofollow` as lstat. No system call. */
bool stk_cache_stat(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                    struct stk_identity *out);
/*
 * Asks the origin for its identity, past the caches of the file system's client, and remembers that
 * of a regular file. Returns 0, with all basic fields and the birth time; -errno as a stat of the
 * path would; or -EAGAIN if the origin was not asked.
 */
int stk_cache_stat_origin(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                          struct statx *out);
/* Returns true if this name is known to be absent. May ask the origin of its directory. */
bool stk_cache_is_absent(struct stk_cache *cache, const struct stk_place *place);
/* Returns true if this user is known to be able to read the file: its entry is there. */
bool stk_cache_is_readable(struct stk_cache *cache, const struct stk_place *place);

/* Writes what is known of the file whose entry has this inode number. `record` is the number that a
 * hit or fill returned. */
bool stk_cache_stat_entry(struct stk_cache *cache, uint32_t record, uint64_t entry_ino,
                          struct stk_identity *out);
/*
 * Finds an entry by its path (of /proc/self/fd/N). Writes the origin's path, which is empty if no
 * root of this process leads there, and the record's number, or 0 if the catalogue does not know
 * the version. Returns false if the path is not an entry of ours, or is a directory's listing,
 * which no program has opened.
 */
bool stk_cache_find_entry(struct stk_cache *cache, const char *entry, char origin[STK_PATH_BYTES],
                          uint32_t *record);

/* Returns true if a version other than this entry's was found or refused in this run. An entry that
 * no process has looked up may still be right. */
bool stk_cache_is_superseded(struct stk_cache *cache, const char *entry);

/* Compares the file that was `found` at an entry's origin path with the file that the entry is a
 * copy of. Uses the catalogue's record, or else the version in the entry's name: another file may
 * have taken the path. */
enum stk_likeness { STK_ANOTHER_FILE, STK_SAME_FILE, STK_SAME_VERSION };
enum stk_likeness stk_cache_compare_entry(struct stk_cache *cache, const char *entry,
                                          const struct stk_identity *found);

/* ---- writes through the program ---- */

/* Marks a file as written, before a call that opens it for writing, creates or truncates it: it is
 * not cached again in this run. Returns true if the file had no such mark.
 * stk_cache_unmark_written takes the mark back if the call fails. */
bool stk_cache_mark_written(struct stk_cache *cache, const struct stk_place *place,
                            struct stk_mark *mark);
void stk_cache_unmark_written(struct stk_cache *cache, const struct stk_mark *mark);
/* Marks a file by its inode after such a call, for its other names. */
void stk_cache_mark_inode(struct stk_cache *cache, const struct stat *stat);
/* Counts all files below all roots of the catalogue as written in this run. One of them was
 * written, and which one is unknown. */
void stk_cache_mark_all_written(struct stk_cache *cache);
/* Makes processes ask the origin of this place again, before and after a call that changes a name
 * or metadata. */
void stk_cache_distrust(struct stk_cache *cache, const struct stk_place *place);
/* Makes processes ask the origin again for a file or directory by its inode, whatever names lead to
 * it. */
void stk_cache_distrust_inode(struct stk_cache *cache, const struct stat *stat);
/* Makes processes ask the origin again for the listing of the directory that holds this place. */
void stk_cache_distrust_listing(struct stk_cache *cache, const struct stk_place *place);
/* Makes processes ask the origin again for everything below every root of the catalogue: a
 * directory or symbolic link was renamed or replaced. Another process may have other roots, or the
 * same roots in another view. */
void stk_cache_distrust_all(struct stk_cache *cache);
