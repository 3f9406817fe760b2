/*
 * The known versions of covered files, and where their entries are. One file per user and node on a
 * tmpfs; all processes map it, and read it without locks.
 *
 * The index is a tree of nodes, each one cache line: six slots of (32-bit tag, 32-bit record
 * number) and four children. A search begins in a table of 16,384 links to nodes. Slots fill in
 * order and are never emptied, so two inserters of one key meet in the same slot, and the first
 * empty slot ends a search. If a node is full, two more bits of the key choose the child that goes
 * on. Nothing moves when the index grows, and no step doubles it. It takes 15 to 25 bytes a file,
 * from 50,000 files on. The records (cache/catalogue/record.h) are numbered from 1.
 *
 * Nodes and records lie in areas that grow (cache/catalogue/area.h), also into memory without a
 * name, if the file system of the file is small. The catalogue is only a memory: the origin answers
 * what it does not.
 *
 * Nothing in it is trusted to be well formed, since other processes of this user can write to it.
 * Whatever it holds, no function crashes, loops or waits without bound. An open gets the origin, or
 * an entry of that very path and of a version that it had, since the entry's name is made from
 * both. A stat returns what was once true of that path: a checksum of 16 bits shows a damaged
 * record. A forged catalogue can cost time, or make processes believe an old version. Only a
 * process that truncates the file under the others causes a SIGBUS.
 *
 * All functions but stk_catalogue_open are safe in threads, after fork and vfork and in signal
 * handlers. Errors are -errno. No heap.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "cache/catalogue/area.h"
#include "cache/catalogue/budget.h"
#include "cache/catalogue/record.h"

#define STK_TIERS           8
#define STK_TIER_PATH_BYTES STK_AREA_PATH_BYTES
#define STK_CHANGES_BUCKETS 2048
#define STK_CHANGES_SLOTS   8
#define STK_CHANGES_BITS    (1u << 18)
#define STK_CHANGES_LEVELS  2 /* beyond the one in the header */

/* The quota of one pid namespace's sample store, see cache/tier/sample_quota.h. */
#define STK_SAMPLE_QUOTAS 8
struct stk_sample_quota {
    _Atomic uint64_t namespace;     /* 0: free */
    _Atomic int64_t blocks, inodes; /* of the budget, reserved for the store */
    _Atomic int64_t wanted_blocks;  /* so many more are wanted, if entries gave way */
};

/* Verdict on the memory of one control group, see cache/tier/pressure.h. */
#define STK_PRESSURES 16
struct stk_pressure {
    _Atomic uint64_t group;   /* 0: free */
    _Atomic uint32_t pressed; /* 1: it is */
    _Atomic int64_t looked_ns;
    _Atomic int64_t admitted_bytes; /* since then */
    _Atomic int64_t entries;        /* entries that this group has made: an upper bound */
};

/* One tier, shared by all processes. Slots are taken in order and never freed. */
struct stk_tier_shared {
    _Atomic uint64_t path_hash; /* 0: slot free */
    _Atomic uint64_t setup;     /* pid of the process that sets it up, or STK_TIER_READY */
    uint64_t dev;               /* st_dev of the tier's directory */
    uint32_t block_bytes;       /* of the file system */
    uint32_t memory;            /* 1: a tmpfs, gone with the last run */
    uint32_t pays; /* 1: its budget pays for the catalogue, which is in the same file system */
    uint32_t jobs; /* 1: it lies in the job's shared memory */
    struct stk_pressure pressures[STK_PRESSURES];
    char home[STK_TIER_PATH_BYTES]; /* DIR/stoker-UID, without symbolic links */
    struct stk_budget budget;
    _Atomic int64_t awaited_blocks; /* what big files begun here still lack; advice */
    struct stk_sample_quota quotas[STK_SAMPLE_QUOTAS];
};
#define STK_TIER_READY UINT64_MAX

enum stk_kept {
    STK_KEPT_NOT,    /* removed when the last run ends */
    STK_KEPT,        /* kept until it is cleared */
    STK_KEPT_BY_RUN, /* kept until the other user's run ends to which its processes belong */
};

struct stk_catalogue_header {
    uint64_t magic;
    uint64_t bytes;          /* of this header */
    _Atomic uint32_t closed; /* 1: about to be removed; nothing may be added */
    _Atomic uint32_t kept;   /* enum stk_kept */
    struct stk_areas areas;
    /* The other user's run (stk_run_number) whose processes joined the catalogue last; 0: none. */
    _Atomic uint32_t kept_by_run;
    struct stk_tier_shared tiers[STK_TIERS];
    /* cache/catalogue/changes.h */
    _Atomic int64_t last_changed_ns; /* the last change of all; 0: no change was noted */
    _Atomic int64_t last_written_ns;
    _Atomic uint64_t writings;       /* how often something was opened for writing */
    _Atomic uint32_t changes_levels; /* of those beyond the header that are allocated */
    _Atomic int64_t written_lost_ns; /* when a note of writing was lost for want of memory */
    _Atomic uint64_t noted[STK_CHANGES_BITS / 64]; /* a bit for each hash that the table may hold */
    _Alignas(64) _Atomic uint64_t changes[STK_CHANGES_BUCKETS][STK_CHANGES_SLOTS];
};

/* One process's view. Zero it before opening; it may live in static memory. */
struct stk_catalogue {
    struct stk_catalogue_header *header; /* NULL: not open */
    struct stk_area_file file;
    _Atomic(void *) changes[STK_CHANGES_LEVELS];
};

/*
 * Opens the catalogue in directory `home`, which is the user's own (cache/catalogue/home.h) and on
 * a tmpfs. `create` makes a missing one. Returns 0; -ENOENT; -ENOSPC; -EPERM if other users may
 * write to the file; -EPROTO if it is not a catalogue of this version; or another -errno.
 */
int stk_catalogue_open(struct stk_catalogue *catalogue, const char *home, bool create);
/*
 * Opens the catalogue and joins it: until the process closes it or ends, in whatever way, no other
 * process can remove it. Otherwise a later process would make another catalogue and miss the
 * changes noted in this one. The lock takes no descriptor. Returns -EAGAIN if the catalogue is
 * being removed, else as stk_catalogue_open.
 */
int stk_catalogue_join(struct stk_catalogue *catalogue, const char *home, bool create);
/* Locks the catalogue in `home` against being joined. Returns a descriptor, which the caller
 * closes; -EBUSY if a process has joined it; or another -errno. */
int stk_catalogue_lock(const char *home);
/* Reads `kept_by_run` of a catalogue that is open for reading. Any user may have made the file, so
 * it is not mapped. Returns 0, or -EPROTO if it is no catalogue of this version. */
int stk_catalogue_read_kept_by_run(int fd, uint32_t *out);
/* Unmaps everything. No other thread may use it. */
void stk_catalogue_close(struct stk_catalogue *catalogue);
/* Returns true if the file of that name is still the one that this process mapped, and not closed.
 * Two system calls. */
bool stk_catalogue_is_current(const struct stk_catalogue *catalogue);

/* Returns how many files the catalogue can know in all: as much memory as it may take now holds so
 * many. Entries leave `spare_blocks` of the budget that pays for the catalogue, beside the
 * headroom. */
int64_t stk_catalogue_capacity(const struct stk_catalogue *catalogue, int64_t spare_blocks);
/* Returns how many blocks of its payer's budget the catalogue has. */
int64_t stk_catalogue_charged(const struct stk_catalogue *catalogue);
/* Returns how many blocks entries lose of its payer's budget when the catalogue comes to know so
 * many files in all: what it takes beside the headroom. An estimate. */
int64_t stk_catalogue_growth(const struct stk_catalogue *catalogue, int64_t files);
/*
 * Lets the catalogue know so many files where its file system is too small: gives it memory beyond
 * its file. That memory stays as long as the catalogue is open here, or in a process that uses it.
 * `alone`: no other run is at work, so memory that this process cannot map is gone, and is replaced
 * by new. The files known there are known no more.
 */
void stk_catalogue_extend(struct stk_catalogue *catalogue, int64_t files, bool alone);

/* Returns the number of the record with this key, or 0. */
uint32_t stk_catalogue_find(struct stk_catalogue *catalogue, struct stk_hash128 key);
/* Returns the record with this number, or NULL. */
struct stk_record *stk_catalogue_record(struct stk_catalogue *catalogue, uint32_t number);
/* Returns the number of a new record, which is zero but for its key, or 0 if there is no room. The
 * index does not show it yet. */
uint32_t stk_catalogue_allocate(struct stk_catalogue *catalogue, struct stk_hash128 key);
/* Gives back a record that the index does not show, and never will. */
void stk_catalogue_give_back(struct stk_catalogue *catalogue, uint32_t number);
/* Puts a record into the index. Returns its number; or the number of the record that was there
 * first; or 0 if there is no room. */
uint32_t stk_catalogue_insert(struct stk_catalogue *catalogue, struct stk_hash128 key,
                              uint32_t number);
/* Replaces the older record in the index. Returns false if another process was faster. */
bool stk_catalogue_replace(struct stk_catalogue *catalogue, struct stk_hash128 key, uint32_t older,
                           uint32_t newer);

/* Returns level 1.. of the table of changes (cache/catalogue/changes.h), and its number of buckets,
 * or NULL. `create` allocates the level if the ones before it are there. */
_Atomic uint64_t *stk_catalogue_changes(struct stk_catalogue *catalogue, unsigned level,
                                        size_t *buckets, bool create);
