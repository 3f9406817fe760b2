/*
 * Everything under one `stoker run`, or everything of the user outside of any (the run named
 * "outside"). The run's file, HOME/runs/NAME, says when it began, shows by a lock that it lives,
 * and holds its counters, which all its processes map.
 *
 * Counters are kept per epoch: the n-th open of a file in a run belongs to epoch n, so the opens of
 * epoch 1 count the distinct files. They are striped, so that processes do not fight for a cache
 * line; a reader adds the stripes up. The processes of a rank (base/rank.h) share a stripe, which
 * says of which rank it is.
 *
 * Counting is lock-free, allocates no heap, and is safe in threads, after fork and in signal
 * handlers. Without the file nothing is counted, and nothing else changes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rank.h"
#include "base/waits.h"
#include "cache/catalogue/budget.h"
#include "cache/catalogue/catalogue.h"
#include "cache/catalogue/home.h"
#include "cache/run/big_queue.h"
#include "cache/run/revalidation_queue.h"
#include "cache/run/shared_request.h"
#include "cache/run/transient.h"

#define STK_RUN_EPOCHS        32  /* later epochs are counted in the last */
#define STK_RUN_MOST_OPENS    100 /* of a file; counted in a byte by many processes at once */
#define STK_RUN_STRIPES       32
#define STK_RUN_SEGMENTS      2048
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

/* Reasons to leave an open to the origin. Names for programs: stk_bypass_name(). */
enum stk_bypass {
    STK_BYPASS_NONE,
    STK_BYPASS_LARGE,       /* above STOKER_MAX_FILE */
    STK_BYPASS_EMPTY,       /* size 0: some file systems say so of files with content */
    STK_BYPASS_YOUNG,       /* changed less than STOKER_MIN_AGE ago */
    STK_BYPASS_WRITTEN,     /* opened for writing in this run */
    STK_BYPASS_CHANGED,     /* changed while it was read */
    STK_BYPASS_BUDGET,      /* does not fit */
    STK_BYPASS_MEMORY,      /* the machine or the control group is short of memory */
    STK_BYPASS_DATABASE,    /* written in its place beside readers: cache/origin/database.h */
    STK_BYPASS_SPARSE,      /* has holes, which an entry would not have */
    STK_BYPASS_ORIGIN,      /* lies in memory already (tmpfs) */
    STK_BYPASS_NAME,        /* too long for an entry */
    STK_BYPASS_FLAGS,       /* O_DIRECT and other opens that want the origin itself */
    STK_BYPASS_TIER,        /* no tier, or the tier failed or is gone */
    STK_BYPASS_DESCRIPTORS, /* none was free to fill with */
    STK_BYPASS_CATALOGUE,   /* no catalogue, or no room in it */
    STK_BYPASS_STUCK,       /* another process fills it and makes no progress */
    STK_BYPASS_LEFT,        /* files are not wanted here: STOKER_FILES=off */
    STK_BYPASS_REMOVED,     /* a big file lost its name while it was finished */
    STK_BYPASS_LIMIT,       /* the process may have no more addresses, or write no such file */
    STK_BYPASS_KINDS
};

/* Reads of big files that were answered from their blocks (cache/big/big.h), and maps. */
enum stk_block_count {
    STK_BLOCK_READS,
    STK_BLOCK_BYTES_CACHE,   /* of these */
    STK_BLOCK_BYTES_ORIGIN,  /* of blocks that the job has filled */
    STK_BLOCK_MAPPED_CACHE,  /* bytes of maps of big files: of entries, */
    STK_BLOCK_MAPPED_ORIGIN, /* and of originals; reads of a map are not seen */
    STK_BLOCK_COUNTS
};

/* Files that the command read ahead of the job (cli/ahead). */
enum stk_ahead_count {
    STK_AHEAD_FILES,
    STK_AHEAD_BYTES,
    STK_AHEAD_LED,    /* of the files: those that came before workers were asked for them */
    STK_AHEAD_LEAD,   /* how many files before that, added up */
    STK_AHEAD_RANGES, /* of big files, which the kernel's page cache got */
    STK_AHEAD_RANGE_BYTES,
    /* Waits of the threads until each file came, added up: for ... */
    STK_AHEAD_STORAGE_NS, /* with the next one */
    STK_AHEAD_PROCESSORS_NS,
    STK_AHEAD_ROOM_NS,
    STK_AHEAD_WINDOW_NS, /* the loader's next files */
    STK_AHEAD_COUNTS
};

/* The counters. All are uint64_t, so that a counter has a number: see STK_RUN_COUNTER(). */
struct stk_run_counts {
    uint64_t epochs[STK_RUN_EPOCHS][STK_COUNT_KINDS];
    uint64_t bypassed[STK_BYPASS_KINDS];
    uint64_t bypassed_bytes[STK_BYPASS_KINDS]; /* of the files whose first open it was */
    uint64_t tiers[STK_TIERS]; /* of the hits, by the catalogue's number of the tier */
    uint64_t stats_served;     /* path stats answered without the origin */
    uint64_t stats_asked;      /* identities asked of the origin */
    uint64_t listings_served;  /* directories that the job listed from the cache */
    uint64_t listings_asked;   /* directories that the job listed at the origin */
    uint64_t blocks[STK_BLOCK_COUNTS];
    uint64_t ahead[STK_AHEAD_COUNTS];
    uint64_t awaited;  /* of the hits of epochs[0]: those that waited for a fill */
    uint64_t asked_ns; /* how long the other hits of epochs[0] waited for identities */
    uint64_t
        unnumbered; /* opens of epochs[0] that may not be the first of their file: a bypassed file
                       has no memory of earlier opens, nor one for which there was no room */
    uint64_t stale; /* maps and descriptors of entries that were written afterwards */
    uint64_t given_up, given_up_bytes; /* entries that made room for a form of their image */
    uint64_t waits[STK_WAITS_BUCKETS]; /* opens that waited for the origin, by how long */
};

#define STK_RUN_COUNTERS        (sizeof(struct stk_run_counts) / sizeof(uint64_t))
#define STK_RUN_COUNTER(member) (offsetof(struct stk_run_counts, member) / sizeof(uint64_t))

struct stk_run_file;

/* One process's view of a run. Zero it before opening; it may be static. */
struct stk_run {
    struct stk_run_file *file; /* NULL: nothing is counted */
    _Atomic(void *) files[STK_RUN_SEGMENTS];
    uint64_t dev, ino;
    struct stk_budget *payer; /* of the tier on the same file system, or NULL */
    int rank; /* as which this process counts; STK_RANK_NONE after opening. A child of fork looks at
                 its environment itself */
    char path[STK_HOME_BYTES];
};

/* Makes the file of a new run that begins now, and opens it. 0 or -errno (-EEXIST: name taken). */
int stk_run_create(struct stk_run *run, const char *home, const char *name);
/* Opens a run's file by its path; 0 or -errno: -EPERM if other users may write to it,
 * -EPROTO if it is no such file. */
int stk_run_open(struct stk_run *run, const char *path);
/* Opens a run's file as a process of the run. The run lives as long as such a process, or a child
 * of its fork, has the file mapped. */
int stk_run_join(struct stk_run *run, const char *path);
/* Returns true if a process has joined the run with this file, in whichever pid namespace. */
bool stk_run_is_joined(const char *path);
/* Unmaps the file; no thread may count by it any more. The counts of files stay. */
void stk_run_close(struct stk_run *run);
/* Gives the run a title, for processes that look at the run: the command. To be called before the
 * command begins. A title that is too long is cut. */
void stk_run_entitle(struct stk_run *run, const char *title);
/* Writes the path of a run's file. */
bool stk_run_path(char out[STK_HOME_BYTES], const char *home, const char *name);
/* Returns the number that stands for the run of this file in another user's catalogue; never 0. */
uint32_t stk_run_number(const char *path);
/* Returns when the run began, on CLOCK_BOOTTIME. */
int64_t stk_run_start_ns(const struct stk_run *run);
/* Returns the run's queue of revalidations, or NULL if the run has none. */
struct stk_revalidation_queue *stk_run_revalidation_queue(const struct stk_run *run);
/* Returns the run's queue of big files, or NULL if the run has none. */
struct stk_big_queue *stk_run_big_queue(const struct stk_run *run);
/* Returns the run's requests to a shared tier, or NULL if the run has none. */
struct stk_shared_requests *stk_run_shared_requests(const struct stk_run *run);
/* Returns the run's transient entries, or NULL if the run has none. */
struct stk_transients *stk_run_transients(const struct stk_run *run);

/* One open, for the counters. */
struct stk_run_open_counts {
    uint32_t record;     /* of the file; 0: unknown, which counts as the first open of it */
    enum stk_count kind; /* hit or fill; OPENS for neither */
    bool fetched;        /* filled by a shared tier, and not by the origin */
    bool awaited;        /* a hit: another process or thread filled it meanwhile */
    unsigned tier;       /* of a hit */
    uint64_t bytes;      /* of the file */
    int64_t wait_ns;
};
/* Counts an open in its epoch, and returns the epoch's number, from 0. */
unsigned stk_run_count_open(struct stk_run *run, const struct stk_run_open_counts *open);
/*
 * Counts an open of this record's file that Stoker itself decoded: the program does not see the
 * file's bytes through that open. Returns true if Stoker decoded each open of the file in the run.
 */
bool stk_run_count_decoded(struct stk_run *run, uint32_t record);
/* Returns true if Stoker decoded each open of the file in the run, without counting one. */
bool stk_run_has_decoded(struct stk_run *run, uint32_t record);
/* Returns how often the job has opened this record's file in the run, as far as that is counted:
 * STK_RUN_MOST_OPENS for all that is more. */
unsigned stk_run_opens(struct stk_run *run, uint32_t record);
/* Has the opens of one record's file go on with another record, which stands for the same version
 * of it and is not in use yet. */
void stk_run_take_over_opens(struct stk_run *run, uint32_t older, uint32_t newer);
/* Adds to the counter of this number. */
void stk_run_count(struct stk_run *run, size_t counter, uint64_t amount);
/* Counts a bypass. `bytes`: of the file, if this was its first open in the run, else 0. */
void stk_run_count_bypass(struct stk_run *run, enum stk_bypass why, uint64_t bytes);
/* Adds up all counters. */
void stk_run_read(const struct stk_run *run, struct stk_run_counts *out);
/* Adds up the counters of the rank that has this row, below STK_RANKS. Returns the rank, or
 * STK_RANK_NONE, without counters, if no rank has it. */
int stk_run_read_rank(const struct stk_run *run, unsigned row, struct stk_run_counts *out);
/* Returns how many files were opened, of those that have records. */
uint64_t stk_run_files(const struct stk_run_counts *counts);

/* A run as an outside process sees it. */
struct stk_run_view {
    int64_t start_ns;                /* CLOCK_BOOTTIME */
    char title[STK_RUN_TITLE_BYTES]; /* no title */
    struct stk_run_counts counts;
};
/* Reads the run in this file, and keeps nothing open. Returns 0, or -errno as stk_run_open. */
int stk_run_look(const char *path, struct stk_run_view *out);

const char *stk_bypass_name(enum stk_bypass why);
