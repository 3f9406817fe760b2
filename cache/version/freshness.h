/*
 * One invariant: a served version was found by a look at the origin that began after the last known
 * change of the file, by any name, and after the run began. A record holds when the last such look
 * began (validated_ns); cache/catalogue/changes.h holds when the file last changed. A look at a
 * path begins before the question is sent. A look at an open file counts from before the file was
 * opened, since a descriptor shows what the path was then.
 *
 * A record's time that is later than now is not believed, and the next look replaces it.
 *
 * STOKER_FRESH=never leaves out the run's beginning; STOKER_FRESH=open believes only the look of
 * this open. Lock-free, no heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include "cache/cache_core.h"
#include "cache/cache_place.h"
#include "cache/catalogue/claim.h"

enum stk_freshness {
    STK_FRESHNESS_FRESH,      /* serve it */
    STK_FRESHNESS_REVALIDATE, /* ask the origin first */
    STK_FRESHNESS_WRITTEN     /* opened for writing in this run: use the origin */
};

/* Returns a record's freshness, from the noted changes of its file and of everything
 * (cache/catalogue/changes.h). */
enum stk_freshness stk_freshness_of(struct stk_cache *cache, const struct stk_record *record);
/* Returns true if the record would be served after a look at the origin that finds no change. */
bool stk_freshness_would(struct stk_cache *cache, const struct stk_record *record);
/* Returns true if a place without a record was opened for writing in this run. */
bool stk_freshness_is_written(struct stk_cache *cache, const struct stk_place *place);
/* Returns true if an inode was opened for writing in this run. */
bool stk_freshness_is_inode_written(struct stk_cache *cache, uint64_t dev, uint64_t ino);

/* Returns true if no change of the record's file is known since the last look, in whichever run
 * that was. */
bool stk_freshness_is_unmarked(struct stk_cache *cache, const struct stk_record *record);
/* Returns true if no change of the record's path and inode is known since the last look; changes of
 * directories and links do not count. */
bool stk_freshness_is_untouched(struct stk_cache *cache, const struct stk_record *record);

/* Returns true if a writer may still be at work: the version is too young for its time stamps to
 * show that. */
bool stk_freshness_is_young(const struct stk_cache *cache, const struct stk_identity *identity);

/* Notes a look at the origin that began at `asked_ns` and found the version of this record. */
void stk_freshness_note(const struct stk_cache *cache, struct stk_record *record,
                        const struct stk_identity *identity, int64_t asked_ns);

/* The origin's answer for a place, past its client's caches. */
struct stk_look {
    struct statx answer; /* of the file, or of the link itself if only that was asked for */
    enum stk_leaf leaf;
    int64_t asked_ns; /* when it began */
};
/* Asks the origin. Returns 0 or the kernel's -errno. */
int stk_freshness_look(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                       struct stk_look *look);
/* Asks the origin of a place of which nothing is known, and looks at no more of its directory than
 * the program's own stat would. asked_ns is 0 then, and the look validates nothing. */
int stk_freshness_look_first(struct stk_cache *cache, const struct stk_place *place, bool nofollow,
                             struct stk_look *look);
/* Remembers what a look has found: the record is then current and fresh. Returns its number, or 0
 * (not a regular file, too young to be trusted, no room). */
uint32_t stk_freshness_remember(struct stk_cache *cache, const struct stk_place *place,
                                const struct stk_look *look);
/* Stops believing older versions when a version is found that is too young. The young version gets
 * no record: a file that grows would leave one for each size. */
void stk_freshness_forget(struct stk_cache *cache, const struct stk_place *place,
                          const struct stk_identity *identity);
/* Looks at the origin and remembers the answer. Returns the record's number, or 0. */
uint32_t stk_freshness_validate(struct stk_cache *cache, const struct stk_place *place);

/* Returns false if an open file, which has this identity, was replaced since its open. It may then
 * have the times of the file in its place, since one rename sets the ctime of both: where a mount
 * makes inode numbers up, the two are one version. A file that keeps another hard link is not
 * noticed. Asks the origin only on a file system that counts no links. */
bool stk_freshness_is_in_place(struct stk_cache *cache, const struct stk_place *place,
                               const struct stk_identity *identity);

/* Prepares a later revalidation by the descriptor: looks at the open file as far as this client
 * knows it, without asking a server. Returns false if it is no longer the version of this record.
 * Until the revalidation only fstat of the file's entry is answered from the record. */
bool stk_freshness_queue_fd(struct stk_record *record, int origin_fd, int64_t opened_ns);

/* Prepares a later revalidation of a file that was opened, or read, since `opened_ns`. */
void stk_freshness_queue(struct stk_record *record, int64_t opened_ns);

/* Looks at an open file. Returns true if it is still the version of this record. `opened_ns` is a
 * time before it was opened. */
bool stk_freshness_validate_fd(struct stk_cache *cache, struct stk_record *record, int origin_fd,
                               int64_t opened_ns);
