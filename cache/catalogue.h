/*
 * The catalogue: which versions of covered files are known, and where their entries are. One file
 * per user and node on a tmpfs, mapped and shared by all processes, lock-free to read.
 *
 * An index of levels, each eight times larger than the one before (0.5, 4, 32, 256 MiB), in buckets
 * of 16 slots of (32-bit tag, 32-bit record number). Slots fill in order and are never emptied, so
 * two inserters of one key meet in the same slot, and the first empty slot ends a search. Behind it
 * lie the records (cache/record.h), numbered from 1.
 *
 * The file grows by whole segments, which are allocated before they are touched: a full tmpfs is an
 * error code, never a SIGBUS. A process maps a segment when it first needs it; no descriptor is
 * kept. It is only a memory: whatever cannot be answered is asked of the origin again.
 *
 * Nothing in it is believed to be well formed: others of this user can write to it. Whatever it
 * holds, nothing crashes, loops or waits without bound; an open gets the origin, or an entry of
 * that very path and of a version that it had, since the entry's name is made from both; and what
 * stat says was true of that path (a check sum, 16 bits). What a lie can do is to cost time, or to
 * have an old version believed. Only to cut the file short under those who have it mapped is
 * SIGBUS.
 *
 * Threads, fork, vfork and signal handlers: everything but stk_catalogue_open is safe in all of
 * them. Errors are -errno. Nothing here allocates from the heap.
 */
#ifndef STK_CACHE_CATALOGUE_H
#define STK_CACHE_CATALOGUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "cache/budget.h"
#include "cache/record.h"

#define STK_CATALOGUE_LEVELS   4
#define STK_CATALOGUE_SEGMENTS 4096 /* of records */
#define STK_SEGMENT_RECORDS    8192
#define STK_TIERS              8
#define STK_TIER_PATH_BYTES    512
#define STK_CHANGES_BUCKETS    2048
#define STK_CHANGES_SLOTS      8
#define STK_CHANGES_BITS       (1u << 18)
#define STK_CHANGES_LEVELS     2 /* beyond the one in the header */

/* What the sample store of a pid namespace may use of a tier, see cache/grant.h. */
#define STK_GRANTS 8
struct stk_grant {
    _Atomic uint64_t namespace;     /* 0: free */
    _Atomic int64_t blocks, inodes; /* of the budget, reserved for it */
    _Atomic int64_t wanted_blocks;  /* it would take so many more, if entries gave way to it */
};

/* Whether memory is short for the processes of a control group, see cache/pressure.h. */
#define STK_PRESSURES 16
struct stk_pressure {
    _Atomic uint64_t group;   /* 0: free */
    _Atomic uint32_t pressed; /* 1: it is */
    _Atomic int64_t looked_ns;
    _Atomic int64_t admitted_bytes; /* since then */
    _Atomic int64_t entries;        /* that this group has made: more than there are, if anything */
};

/* A tier as all processes see it. Slots are taken in order and never freed. */
struct stk_tier_shared {
    _Atomic uint64_t path_hash; /* 0: slot free */
    _Atomic uint64_t setup;     /* pid that sets it up, or STK_TIER_READY */
    uint64_t dev;               /* st_dev of the tier's directory */
    uint32_t block_bytes;       /* of the file system */
    uint32_t memory;            /* 1: a tmpfs, gone with the last run */
    uint32_t pays;              /* 1: for the catalogue, which is in the same file system */
    uint32_t jobs;              /* 1: the job's shared memory, which it needs itself */
    struct stk_pressure pressures[STK_PRESSURES];
    char home[STK_TIER_PATH_BYTES]; /* DIR/stoker-UID, without symbolic links */
    struct stk_budget budget;
    _Atomic int64_t awaited_blocks; /* of big files begun here, what is to come; advice */
    struct stk_grant grants[STK_GRANTS];
};
#define STK_TIER_READY UINT64_MAX

enum stk_kept {
    STK_KEPT_NOT,   /* removed when the last run ends */
    STK_KEPT,       /* kept until it is cleared */
    STK_KEPT_GUEST, /* kept until the other user's run ends that its processes belong to */
};

struct stk_catalogue_header {
    uint64_t magic;
    uint64_t bytes;               /* of this header */
    _Atomic uint32_t closed;      /* 1: about to be removed; nothing may be added */
    _Atomic uint32_t kept;        /* enum stk_kept */
    _Atomic uint32_t levels;      /* of the index that are allocated */
    _Atomic uint32_t segments;    /* of records that are allocated */
    _Atomic uint32_t next_record; /* the first number not given out */
    /* The other user's run (stk_run_number) whose processes joined the catalogue last; 0: none. */
    _Atomic uint32_t guest_of;
    struct stk_tier_shared tiers[STK_TIERS];
    /* cache/changes.h */
    _Atomic int64_t last_changed_ns; /* of anything; 0: nothing was noted */
    _Atomic int64_t last_written_ns;
    _Atomic uint64_t writings;       /* how often something was opened for writing */
    _Atomic uint32_t changes_levels; /* of those beyond the header that are allocated */
    _Atomic int64_t written_lost_ns; /* when a note of writing found no room, for want of memory */
    _Atomic uint64_t noted[STK_CHANGES_BITS / 64]; /* a bit for each hash that the table may hold */
    _Alignas(64) _Atomic uint64_t changes[STK_CHANGES_BUCKETS][STK_CHANGES_SLOTS];
};

/* One process's view. Zero it before opening; it may live in static memory. */
struct stk_catalogue {
    struct stk_catalogue_header *header; /* NULL: not open */
    _Atomic(void *) levels[STK_CATALOGUE_LEVELS];
    _Atomic(void *) records[STK_CATALOGUE_SEGMENTS];
    _Atomic(void *) changes[STK_CHANGES_LEVELS];
    uint64_t dev, ino; /* of the file, to notice when another took its name */
    char path[STK_TIER_PATH_BYTES];
};

/*
 * Opens the catalogue in directory `home`, which is the user's own (cache/home.h) and on a tmpfs;
 * `create` makes one when there is none. 0; -ENOENT; -ENOSPC; -EPERM when the file is not ours
 * alone; -EPROTO when it is not a catalogue of this version; or another -errno.
 */
int stk_catalogue_open(struct stk_catalogue *catalogue, const char *home, bool create);
/*
 * The same, to use it: until it is closed, or the process ends in whatever way, it is locked
 * against being removed, since a process that came later would make another one and not learn of
 * changes that are noted in this. The lock takes no descriptor. -EAGAIN when it is being removed.
 */
int stk_catalogue_join(struct stk_catalogue *catalogue, const char *home, bool create);
/* A descriptor by which the catalogue in `home` is locked against being joined, for the caller to
 * close; -EBUSY when somebody has joined it; or another -errno. */
int stk_catalogue_lock(const char *home);
/* Reads `guest_of` of a catalogue that is open for reading. Any user may have made the file, so it
 * is not mapped. Returns 0, or -EPROTO if it is no catalogue of this version. */
int stk_catalogue_read_guest(int fd, uint32_t *out);
/* Unmaps everything. No other thread may use it. */
void stk_catalogue_close(struct stk_catalogue *catalogue);
/* Whether the file of that name still is the one we mapped, and not closed: two system calls. */
bool stk_catalogue_is_current(const struct stk_catalogue *catalogue);

/* The number of the record with this key, or 0. */
uint32_t stk_catalogue_find(struct stk_catalogue *catalogue, struct stk_hash128 key);
/* The record with this number, or NULL when the number is none. */
struct stk_record *stk_catalogue_record(struct stk_catalogue *catalogue, uint32_t number);
/* A new record, all zero but for its key; 0 when there is no room. Not yet to be found. */
uint32_t stk_catalogue_allocate(struct stk_catalogue *catalogue, struct stk_hash128 key);
/* Makes it findable. Returns its number, or that of the one that was there first, or 0: no room. */
uint32_t stk_catalogue_insert(struct stk_catalogue *catalogue, struct stk_hash128 key,
                              uint32_t number);
/* Puts the newer record in the place of the older; false when another process was faster. */
bool stk_catalogue_replace(struct stk_catalogue *catalogue, struct stk_hash128 key, uint32_t older,
                           uint32_t newer);

/*
 * Level 1.. of the table of changes (cache/changes.h), and its number of buckets; NULL when it is
 * not there. `create` allocates it, if the ones before it are there.
 */
_Atomic uint64_t *stk_catalogue_changes(struct stk_catalogue *catalogue, unsigned level,
                                        size_t *buckets, bool create);

#endif
