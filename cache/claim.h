/*
 * The claim word of a record: its state, and who is filling it, in one atomic word.
 *
 *   bits 0-1   state: absent, filling, present, refused
 *   bits 2-3   the path's last component is a symbolic link: unknown, no, yes
 *   bits 4-6   tier of a present entry, or the tier that refused
 *   bits 8-31  pid of the filler
 *   bits 32-63 filling: progress, counted up, and above it 8 bits for the filler's pid namespace;
 *              refused: the budget's generation, or for its holes in this run
 *
 * A claim is advice: a dead filler is overtaken at once, one without progress after
 * STK_CLAIM_PATIENCE_NS, and so is one of another pid namespace, whose number here is nobody's, or
 * another's. Two fillers at worst do the same work twice, since entries are published
 * whole and by name. All functions are lock-free and safe everywhere.
 */
#ifndef STK_CACHE_CLAIM_H
#define STK_CACHE_CLAIM_H

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

/* What a refusal for holes has for a generation, which gets nowhere near: what is true of a version
 * holds for a run, and the next one may find another. */
static inline uint32_t stk_claim_sparse_in(int64_t run_start_ns)
{
    return UINT32_C(1) << 31 | (uint32_t)(run_start_ns >> 10 & INT32_MAX);
}

/* The word as it is now, with acquire: what the filler did before may be read after it. */
static inline struct stk_claim stk_claim_load(const _Atomic uint64_t *word)
{
    return stk_claim_unpack(atomic_load_explicit(word, memory_order_acquire));
}

/* Replaces `seen` by `wanted`; false when somebody else was faster. Wakes those who wait. */
bool stk_claim_change(_Atomic uint64_t *word, struct stk_claim seen, struct stk_claim wanted);

/* What the detail of this process's filling begins with, a number of the caller's for its progress;
 * and what comes after. */
uint32_t stk_claim_first(uint32_t progress);
uint32_t stk_claim_next(uint32_t detail);
/* Whether who fills it is dead, for all that is known here. */
bool stk_claim_is_dead(struct stk_claim claim);

/* Takes a record that nobody fills, for filling (or dropping) by this process; false: not now. */
bool stk_claim_take(_Atomic uint64_t *word, struct stk_claim seen);
/* One step forward; false when the claim is no longer this process's. */
bool stk_claim_advance(_Atomic uint64_t *word);
/* Ends this process's filling with a new state (`detail` as above); false when it was overtaken. */
bool stk_claim_finish(_Atomic uint64_t *word, enum stk_state state, unsigned tier, uint32_t detail);
/* Notes what is known of the leaf. */
void stk_claim_set_leaf(_Atomic uint64_t *word, enum stk_leaf leaf);

/*
 * Waits while another process fills and makes progress. Returns true when the word says anything
 * else than filling. A filler that is dead or stuck loses its claim, so that all who wait for it go
 * on, and one of them takes its place; false to the one that did this.
 */
bool stk_claim_wait(_Atomic uint64_t *word);
/* Takes a claim away from its filler, who is dead or stuck, as it was `seen`; false: it gets on. */
bool stk_claim_abandon(_Atomic uint64_t *word, struct stk_claim seen);

#endif
