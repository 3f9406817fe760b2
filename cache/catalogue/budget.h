/*
 * A budget in shared memory: blocks of 512 bytes and inodes, reserved before they are used, so that
 * what is used never exceeds it. Lock-free; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STK_BLOCK_BYTES 512

struct stk_budget {
    _Atomic int64_t blocks, inodes;           /* allowed */
    _Atomic int64_t headroom_blocks;          /* of those, kept for what is not an entry */
    _Atomic int64_t headroom_used_blocks;     /* taken of them, or beyond them */
    _Atomic int64_t used_blocks, used_inodes; /* reserved or used, by all catalogues */
    /* what the other catalogues had announced when this one last looked (cache/tier/tier.h), and
     * how much this catalogue may use before it has to announce more */
    _Atomic int64_t others_blocks, others_inodes;
    _Atomic int64_t limit_blocks, limit_inodes;
    _Atomic int64_t announced_ns; /* when it last looked */
    _Atomic int64_t full_ns;      /* when the file system itself last said ENOSPC */
    _Atomic uint32_t generation;  /* counted up whenever more may fit than before */
};

/* Reserves blocks and inodes for an entry: both or neither. Returns false if they do not fit beside
 * the headroom. */
bool stk_budget_reserve(struct stk_budget *budget, int64_t blocks, int64_t inodes);
/* Returns how many blocks an entry could still take. Another process may take them first. */
int64_t stk_budget_left(const struct stk_budget *budget);
void stk_budget_release(struct stk_budget *budget, int64_t blocks, int64_t inodes);
/* Has refused files tried again: more may fit than before. */
void stk_budget_try_again(struct stk_budget *budget);

/*
 * Reserves headroom for the catalogue, which must grow even when entries have filled the budget: a
 * file that it does not know costs a question to the origin at each open. Reserves beyond the
 * headroom from the rest.
 */
bool stk_budget_take_headroom(struct stk_budget *budget, int64_t blocks);
void stk_budget_give_headroom(struct stk_budget *budget, int64_t blocks);
/* Returns how many blocks of the headroom are left. */
int64_t stk_budget_headroom_left(const struct stk_budget *budget);
/* Returns the headroom of a budget of so many blocks, which pays for a catalogue that knows the
 * files of other tiers, too. */
int64_t stk_budget_headroom_of(int64_t blocks, int64_t others_blocks);

/* Sets what is allowed. Refused files are then tried again. */
void stk_budget_set(struct stk_budget *budget, int64_t blocks, int64_t inodes);
/* Notes an -errno of the file system. -ENOSPC and -EDQUOT mean that it is full; others mean nothing
 * here. */
void stk_budget_note_error(struct stk_budget *budget, int error);
/* Returns true if the file system was full in the last 5 s. A copy begun then would most likely end
 * the same way. */
bool stk_budget_is_full(const struct stk_budget *budget);

/* Returns how many blocks a file of this size takes in a file system with such blocks. */
int64_t stk_budget_blocks_of(uint64_t bytes, uint32_t fs_block_bytes);

#define STK_BUDGET_LEAST_RESERVE_BYTES (INT64_C(8) << 30)

/* Returns the default budget: `available` less a reserve for the job and for PyTorch's own shared
 * memory. The reserve is the larger of `least_reserve` and 20%, and at most half. */
int64_t stk_budget_less_reserve(int64_t available, int64_t least_reserve);
