/*
 * The big files of this process, by device and inode: a program closes, duplicates and reuses the
 * numbers of its descriptors, and Stoker does not see all of that. The table is limited: a file
 * without a slot is the origin's. Lock-free, no heap; safe in threads, after fork and in signal
 * handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/big/blocks.h"
#include "cache/cache_core.h"
#include "cache/cache_place.h"

enum { STK_BIG_UNKNOWN, STK_BIG_KEPT, STK_BIG_NOT_KEPT };

/* One big file of this process. */
struct stk_big {
    _Atomic int32_t users; /* readers; -1: the slot is seized */
    uint32_t record;
    _Atomic uint64_t dev, ino; /* 0: none */
    _Atomic uint64_t turn;     /* counts up with each use */
    int64_t opened_ns;         /* a time before the file was opened */
    _Atomic uint64_t ticket;   /* its ticket in the run's queue (cache/run/big_queue.h), or 0 */
    struct stk_hash128 key;    /* the place's key */
    const struct stk_root *root;
    _Atomic uint64_t read_until;   /* the end of the last read */
    _Atomic int kept;              /* whether the kernel keeps what is read of the origin */
    _Atomic uint32_t ahead_blocks; /* blocks to read ahead of a sequential reader */
    _Atomic bool streamed;         /* libc reads it too, and shall find it in memory */
    bool ours;                     /* the caller's own, with its descriptor: only for filling */
    char *buffer;                  /* NULL, or for whole blocks at once: stk_big_read_directly() */
    struct stk_big_blocks blocks;
    char entry[STK_PATH_BYTES]; /* the path of the entry that it becomes */
};

/* Not 0 after the first big file of this process. */
extern _Atomic uint32_t stk_big_count;

/* Returns false in nearly all processes. */
static inline bool stk_big_is_any(void)
{
    return atomic_load_explicit(&stk_big_count, memory_order_relaxed) != 0;
}

/* Returns the slot of this inode, held until stk_big_let_go, or NULL. */
struct stk_big *stk_big_find(uint64_t dev, uint64_t ino);
void stk_big_let_go(struct stk_big *big);

/* Seizes a slot for this inode: a free one, or the one that was read longest ago, whose blocks are
 * closed. No other thread finds it until stk_big_give_slot. Returns NULL if all are in use. */
struct stk_big *stk_big_take_slot(uint64_t dev, uint64_t ino);
/* Ends the seizure. An `ino` other than 0 is found from then on. */
void stk_big_give_slot(struct stk_big *big, uint64_t dev, uint64_t ino);
/* Empties a slot that no longer serves this inode, unless a thread holds it. */
void stk_big_drop(struct stk_big *big, uint64_t dev, uint64_t ino);

/* Notes in the run's queue (cache/run/big_queue.h) what was done with this file, for the command,
 * which completes it. */
void stk_big_mark(struct stk_cache *cache, struct stk_big *big, uint32_t marks);
