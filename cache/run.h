/*
 * A run: everything under one `stoker run`, or, outside of any, everything of the user together
 * (the run named "outside"). Its file, HOME/runs/NAME, tells when it began, shows by a lock that it
 * lives, and holds its counters, mapped by all its processes.
 *
 * Counters are kept per epoch: the n-th open of a file in a run belongs to epoch n, so the opens of
 * epoch 1 count the distinct files. They are striped, so that processes do not fight for a cache
 * line; a reader adds the stripes up.
 *
 * Counting is lock-free, allocates nothing from the heap, and is safe in threads, after fork and in
 * signal handlers. Counters that cannot be mapped are not counted, and nothing else happens.
 */
#ifndef STK_CACHE_RUN_H
#define STK_CACHE_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/waits.h"
#include "cache/begun.h"
#include "cache/budget.h"
#include "cache/catalogue.h"
#include "cache/deferred.h"
#include "cache/errand.h"
#include "cache/home.h"
#include "cache/passing.h"

#define STK_RUN_EPOCHS        32 /* what comes later is counted in the last */
#define STK_RUN_STRIPES       32
#define STK_RUN_SEGMENTS      1024
#define STK_RUN_SEGMENT_FILES 32768
#define STK_RUN_SEGMENT_BYTES (2 * STK_RUN_SEGMENT_FILES)
#define STK_RUN_OUTSIDE       "outside"
#define STK_RUN_TITLE_BYTES   488

enum stk_count {
    STK_COUNT_OPENS, /* of covered regular files, for reading only */
    STK_COUNT_HITS,
    STK_COUNT_FILLS,
    STK_COUNT_BYTES_CACHE,  /* sizes of the files served, or filled by a shared tier */
    STK_COUNT_BYTES_ORIGIN, /* sizes of the files filled or left to the origin, without what comes
                             * in blocks */
    STK_COUNT_WAIT_NS,      /* in opens that were no hits */
    STK_COUNT_KINDS
};

/* Why an open was left to the origin. Names for people: stk_bypass_name(). */
enum stk_bypass {
    STK_BYPASS_NONE,
    STK_BYPASS_LARGE,       /* above STOKER_MAX_FILE */
    STK_BYPASS_EMPTY,       /* size 0: some file systems say so of files with content */
    STK_BYPASS_YOUNG,       /* changed less than STOKER_MIN_AGE ago */
    STK_BYPASS_WRITTEN,     /* opened for writing in this run */
    STK_BYPASS_CHANGED,     /* changed while it was read */
    STK_BYPASS_BUDGET,      /* does not fit */
    STK_BYPASS_MEMORY,      /* the machine or the control group is short of memory */
    STK_BYPASS_DATABASE,    /* written in its place beside readers: cache/content.h */
    STK_BYPASS_SPARSE,      /* has holes, which an entry would not have */
    STK_BYPASS_ORIGIN,      /* lies in memory already (tmpfs) */
    STK_BYPASS_NAME,        /* too long for an entry */
    STK_BYPASS_FLAGS,       /* O_DIRECT and other opens that want the origin itself */
    STK_BYPASS_TIER,        /* no tier, or the tier failed or is gone */
    STK_BYPASS_DESCRIPTORS, /* none was free to fill with */
    STK_BYPASS_CATALOGUE,   /* no catalogue, or no room in it */
    STK_BYPASS_STUCK,       /* another process fills it and makes no progress */
    STK_BYPASS_LEFT,        /* files are not wanted here: STOKER_FILES=off */
    STK_BYPASS_KINDS
};

/* Reads of big files that were answered from their blocks (cache/big.h). */
enum stk_block_count {
    STK_BLOCK_READS,
    STK_BLOCK_BYTES_CACHE,  /* of these */
    STK_BLOCK_BYTES_ORIGIN, /* of blocks that the job has filled */
    STK_BLOCK_COUNTS
};

struct stk_run_counts {
    uint64_t epochs[STK_RUN_EPOCHS][STK_COUNT_KINDS];
    uint64_t bypassed[STK_BYPASS_KINDS];
    uint64_t bypassed_bytes[STK_BYPASS_KINDS]; /* of the files whose first open it was */
    uint64_t tiers[STK_TIERS]; /* of the hits, by the catalogue's number of the tier */
    uint64_t stats_served;     /* path stats answered without the origin */
    uint64_t stats_asked;      /* identities asked of the origin */
    uint64_t blocks[STK_BLOCK_COUNTS];
    uint64_t unnumbered; /* opens of epochs[0] that may be any of their file's: nothing is
                          * remembered of it, since it is bypassed, or there is no room */
    uint64_t stale;      /* maps and descriptors of entries that were written afterwards */
    uint64_t members;    /* hits in other members' homes (cache/group.h) */
    uint64_t given_up, given_up_bytes; /* entries that made room for a form of theirs */
    uint64_t waits[STK_WAITS_BUCKETS]; /* opens that waited for the origin, by how long */
};

struct stk_run_file;

/* One process's view of a run. Zero it before opening; it may be static. */
struct stk_run {
    struct stk_run_file *file; /* NULL: nothing is counted */
    _Atomic(void *) files[STK_RUN_SEGMENTS];
    uint64_t dev, ino;
    struct stk_budget *payer; /* of the tier on the same file system, or NULL */
    char path[STK_HOME_BYTES];
};

/* Makes the file of a new run that begins now, and opens it. 0 or -errno (-EEXIST: name taken). */
int stk_run_create(struct stk_run *run, const char *home, const char *name);
/* Opens a run's file by its path; 0 or -errno (-EPROTO: not such a file). */
int stk_run_open(struct stk_run *run, const char *path);
/* Unmaps it; nobody may count by it any more. What is counted of files stays. */
void stk_run_close(struct stk_run *run);
/* What those see who look at the run: the command. Said before that begins; what is too long is
 * cut. */
void stk_run_entitle(struct stk_run *run, const char *title);
/* The path of a run's file. */
bool stk_run_path(char out[STK_HOME_BYTES], const char *home, const char *name);
/* Returns the number that stands for the run of this file in another user's catalogue; never 0. */
uint32_t stk_run_number(const char *path);
/* When it began, on CLOCK_BOOTTIME. */
int64_t stk_run_start_ns(const struct stk_run *run);
/* The validations that are put off in it; NULL: there is no such place. */
struct stk_deferred *stk_run_deferred(const struct stk_run *run);
/* The big files that were begun in it; NULL: there is no such place. */
struct stk_begun *stk_run_begun(const struct stk_run *run);
/* What is asked of a shared tier; NULL: there is no such place. */
struct stk_errands *stk_run_errands(const struct stk_run *run);
/* The entries that pass; NULL: there is no such place. */
struct stk_passings *stk_run_passings(const struct stk_run *run);

/* One open, as it is counted. */
struct stk_run_open_counts {
    uint32_t record;     /* of the file; 0: unknown, which counts as the first open of it */
    enum stk_count kind; /* hit or fill; OPENS for neither */
    bool fetched;        /* filled by a shared tier, and not by the origin */
    unsigned tier;       /* of a hit */
    uint64_t bytes;      /* of the file */
    int64_t wait_ns;
};
/* Counts it in the epoch that it belongs to, and returns that, from 0. */
unsigned stk_run_count_open(struct stk_run *run, const struct stk_run_open_counts *open);
/*
 * What was opened of this record's file was decoded, by us: nobody gets to see the file's bytes by
 * that open. True if that holds of all its opens in the run.
 */
bool stk_run_count_decoded(struct stk_run *run, uint32_t record);
/* Whether it does, without counting one. */
bool stk_run_has_decoded(struct stk_run *run, uint32_t record);
void stk_run_count_given_up(struct stk_run *run, uint64_t bytes);
/* `bytes`: of the file, where this was its first open in the run; else 0. */
void stk_run_count_bypass(struct stk_run *run, enum stk_bypass why, uint64_t bytes);
void stk_run_count_stat(struct stk_run *run, bool served);
void stk_run_count_stale(struct stk_run *run);
void stk_run_count_members(struct stk_run *run);
void stk_run_count_blocks(struct stk_run *run, enum stk_block_count kind, uint64_t amount);
/* Adds everything up. */
void stk_run_read(const struct stk_run *run, struct stk_run_counts *out);
/* How many files were opened, of those that could be told apart. */
uint64_t stk_run_files(const struct stk_run_counts *counts);

/* A run as one sees it who takes no part in it. */
struct stk_run_view {
    int64_t start_ns;                /* CLOCK_BOOTTIME */
    char title[STK_RUN_TITLE_BYTES]; /* "": nobody has said */
    struct stk_run_counts counts;
};
/* Looks at the run in this file, of which nothing stays open; 0 or -errno as stk_run_open. */
int stk_run_look(const char *path, struct stk_run_view *out);

const char *stk_bypass_name(enum stk_bypass why);

#endif
