/*
 * One atomic word of a record: its state, and which process fills it.
 *
 *   bits 0-1   state: absent, filling, present, refused
 *   bits 2-4   the path's last component is a symbolic link: unknown, no, yes
 *   bits 5-7   tier of a present entry, or the tier that refused
 *   bits 8-31  pid of the filler
 *   bits 32-63 filling: progress, counted up, and above it 8 bits for the filler's pid namespace;
 *              refused: the budget's generation; of a file with holes, a mark of this run
 *
 * A claim is advice. Another process overtakes a dead filler at once, and a filler without progress
 * after STK_CLAIM_PATIENCE_NS. A filler of another pid namespace is only overtaken after that time
 * too, because its pid means nothing here. At worst two fillers do the same work twice: an entry is
 * published whole and by name. All functions are lock-free and safe in threads, after fork and in
 * signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

#define STK_CLAIM_PATIENCE_NS (2 * STK_NS_PER_S)

enum stk_state { STK_ABSENT, STK_FILLING, STK_PRESENT, STK_REFUSED };
enum stk_leaf { STK_LEAF_UNKNOWN, STK_LEAF_PLAIN, STK_LEAF_LINK };

struct stk_claim {
    enum stk_state state;
    enum stk_leaf leaf;
    unsigned tier;
    pid_t pid;
    uint32_t detail; /* progress and namespace, or the budget's generation */
};

uint64_t stk_claim_pack(struct stk_claim claim);
struct stk_claim stk_claim_unpack(uint64_t word);

/* Returns the detail of a refusal for holes. The top bit is set, so it never equals a budget's
 * generation. It is derived from the run's start, so the refusal lasts one run: the next run may
 * find another version. */
static inline uint32_t stk_claim_sparse_in(int64_t run_start_ns)
{
    return UINT32_C(1) << 31 | (uint32_t)(run_start_ns >> 10 & INT32_MAX);
}

/* Loads a claim with acquire: the caller then sees what the filler wrote before. */
static inline struct stk_claim stk_claim_load(const _Atomic uint64_t *word)
{
    return stk_claim_unpack(atomic_load_explicit(word, memory_order_acquire));
}

/* Replaces `seen` by `wanted`, and wakes the waiters if a filling ends. Returns false if the word
 * was no longer `seen`. */
bool stk_claim_change(_Atomic uint64_t *word, struct stk_claim seen, struct stk_claim wanted);

/* Return the detail with which this process's filling begins, from a progress that the caller
 * chooses, and the detail of the next step. */
uint32_t stk_claim_first(uint32_t progress);
uint32_t stk_claim_next(uint32_t detail);
/* Returns true if the filler is known to be dead. */
bool stk_claim_is_dead(struct stk_claim claim);

/* Takes a record that no process fills, for filling or dropping by this process. Returns false if
 * another was faster. */
bool stk_claim_take(_Atomic uint64_t *word, struct stk_claim seen);
/* Counts a step of progress. Returns false if the claim is no longer this process's. */
bool stk_claim_advance(_Atomic uint64_t *word);
/* Ends this process's filling with a new state (`detail` as above). Returns false if another
 * process has overtaken it. */
bool stk_claim_finish(_Atomic uint64_t *word, enum stk_state state, unsigned tier, uint32_t detail);
/* Notes what is known of the leaf. */
void stk_claim_set_leaf(_Atomic uint64_t *word, enum stk_leaf leaf);

/*
 * Waits while another process fills and makes progress. Returns true when the word no longer says
 * filling. A dead or stuck filler loses its claim, so all its waiters go on. Returns false to the
 * one waiter that took the claim away, which then takes the filler's place.
 */
bool stk_claim_wait(_Atomic uint64_t *word);
/* Takes a claim away from a filler that is dead or stuck, as it was `seen`. Returns false if the
 * filler made progress. */
bool stk_claim_abandon(_Atomic uint64_t *word, struct stk_claim seen);
