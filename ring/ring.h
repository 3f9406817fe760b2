/*
 * A worker's ring: the slots it has made, of which it takes one for each large tensor that it
 * sends. It knows neither tensors nor Python.
 *
 * A slot is taken again when nothing of this process lies over it, it is lent to nobody and it is
 * not kept (slot.h). None is waited for: where no free one fits, another one is made. So there are
 * as many as are in flight at the same time, and what is beyond the most that was, lately, goes
 * back to the system. A consumer that keeps batches keeps their slots; the ring forgets those, and
 * they end with their last view.
 *
 * Not safe in threads: one lock of the caller's (Python's) is around all of it. A child of fork has
 * no ring: stk_ring_is_own() says so, and stk_ring_leave() lets go of what it inherited.
 */
#ifndef STK_RING_RING_H
#define STK_RING_RING_H

#include "ring/slot.h"

#define STK_RING_SLOTS 64

/* One slot of the ring. */
struct stk_ring_slot {
    struct stk_slot slot; /* not mapped: none */
    unsigned holders;     /* what of this process lies over it */
    uint64_t taken;       /* the ring's count of takes at that time */
    int fd;               /* for the receiver to map it by; -1: it has */
    void *copy;           /* during a fork: the slot's memory for the child; or NULL */
};

struct stk_ring {
    pid_t owner; /* 0: there is no ring */
    uint64_t name, takes, numbers;
    size_t most_bytes[2]; /* that were in flight at once: in the last so many takes, and before */
    struct stk_ring_slot slots[STK_RING_SLOTS];
};

/* An empty one, for this process; `name` tells it from all others. */
void stk_ring_begin(struct stk_ring *ring, uint64_t name);
/* Whether this process began it. */
bool stk_ring_is_own(const struct stk_ring *ring);

/* A slot of at least so many bytes, held once, or -errno. Its number in the ring is good for as
 * long as it is held or lent. */
int stk_ring_take(struct stk_ring *ring, size_t bytes);
void stk_ring_hold(struct stk_ring *ring, int slot);
void stk_ring_let_go(struct stk_ring *ring, int slot);

/* The slot that an address lies in, or -1. */
int stk_ring_find(const struct stk_ring *ring, const void *address);

/* The receiver can map it, or will: the descriptor is closed. */
void stk_ring_introduced(struct stk_ring *ring, int slot);

/* Before a fork: copies each slot that something lies over. The child sees the slot as it is now,
 * whatever this process writes after the fork. */
void stk_ring_keep(struct stk_ring *ring);
/* In the parent, after the fork or its failure: drops these copies. */
void stk_ring_go_on(struct stk_ring *ring);
/* In the child: unmaps each slot that nothing lies over, and puts the copies in the place of the
 * others. There is no ring then. */
void stk_ring_leave(struct stk_ring *ring);
/* The worker's end: nothing will be lent again. */
void stk_ring_end(struct stk_ring *ring);

#endif
