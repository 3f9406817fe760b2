/*
 * A budget in shared memory: blocks of 512 bytes and inodes, reserved before they are used, so that
 * what is used never exceeds it. Lock-free; safe in threads, after fork and in signal handlers.
 */
#ifndef STK_CACHE_BUDGET_H
#define STK_CACHE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STK_BLOCK_BYTES 512

struct stk_budget {
    _Atomic int64_t blocks, inodes;           /* allowed */
    _Atomic int64_t aside_blocks;             /* of those, kept for what is not an entry */
    _Atomic int64_t aside_used_blocks;        /* taken of them, or beyond them */
    _Atomic int64_t used_blocks, used_inodes; /* reserved or used, by all catalogues */
    /* cache/tier.h: of these, what the others had announced when this catalogue last looked; and
     * how far it may go until it has to announce more. */
    _Atomic int64_t others_blocks, others_inodes;
    _Atomic int64_t limit_blocks, limit_inodes;
    _Atomic int64_t announced_ns; /* when it last looked */
    _Atomic int64_t full_ns;      /* when the file system itself last said ENOSPC */
    _Atomic uint32_t generation;  /* counted up whenever more may fit than before */
};

/* For an entry: takes both or nothing. False: it does not fit beside what is kept aside. */
bool stk_budget_reserve(struct stk_budget *budget, int64_t blocks, int64_t inodes);
/* How many blocks an entry could still take; others may take them first. */
int64_t stk_budget_left(const struct stk_budget *budget);
void stk_budget_release(struct stk_budget *budget, int64_t blocks, int64_t inodes);
/* Gives back what an entry took that is gone; files refused before are then tried again. */
void stk_budget_free(struct stk_budget *budget, int64_t blocks, int64_t inodes);

/*
 * For the catalogue, which must go on growing when entries have filled the budget: a file that is
 * not known costs the origin a question at each open. Reserves from what is kept aside, and beyond
 * that from the rest.
 */
bool stk_budget_reserve_aside(struct stk_budget *budget, int64_t blocks);
void stk_budget_release_aside(struct stk_budget *budget, int64_t blocks);
/* How much to keep aside in a budget of so many blocks. */
int64_t stk_budget_aside_of(int64_t blocks);

/* Sets what is allowed; files refused before are then tried again. */
void stk_budget_set(struct stk_budget *budget, int64_t blocks, int64_t inodes);
/* Notes an -errno of the file system: after -ENOSPC and -EDQUOT it is full, others say nothing. */
void stk_budget_note_error(struct stk_budget *budget, int error);
/* Whether it was in the last 5 s: to begin something there would cost a copy that ends the same
 * way. */
bool stk_budget_is_full(const struct stk_budget *budget);

/* The blocks that a file of this size takes in a file system with such blocks. */
int64_t stk_budget_blocks_of(uint64_t bytes, uint32_t fs_block_bytes);

#define STK_BUDGET_LEAST_RESERVE_BYTES (INT64_C(8) << 30)

/*
 * The default: what of `available` remains when a reserve is left for the job and for PyTorch's own
 * shared memory: the larger of `least_reserve` and 20%, at most half.
 */
int64_t stk_budget_less_reserve(int64_t available, int64_t least_reserve);

#endif
