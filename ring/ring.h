/*
 * A worker's ring: the slots that it has made. It takes one of them for each large tensor that it
 * sends. The ring knows neither tensors nor Python.
 *
 * A slot is free if nothing of this process lies over it, it is lent to no process and it is not
 * marked as kept (slot.h). The ring waits for none: if no free slot fits, it makes another one. So
 * there are as many slots as are in flight at the same time. Slots beyond the recent maximum go
 * back to the system. If a consumer keeps batches, the ring drops their slots, and these end with
 * their last view.
 *
 * Not thread-safe: the caller holds one lock (Python's) around all calls. A child of fork has no
 * ring: stk_ring_is_own() returns false there, and stk_ring_leave() gives up what the child
 * inherited.
 */
#pragma once

#include "ring/slot.h"

#define STK_RING_SLOTS 64

/* One slot of the ring. */
struct stk_ring_slot {
    struct stk_slot slot; /* not mapped: this place of the ring is empty */
    unsigned holders;     /* objects of this process that lie over it */
    uint64_t taken;       /* the ring's count of takes when it was taken */
    int fd;               /* for the receiver to map it by; -1: the receiver has mapped it */
    bool offered;         /* since it was taken: nothing was written, and it has no memory */
    void *copy;           /* during a fork: the slot's memory for the child; or NULL */
};

struct stk_ring {
    pid_t owner; /* 0: there is no ring */
    uint64_t name, takes, numbers;
    size_t
        most_bytes[2]; /* in flight at once at the most: in the last takes, and in those before */
    struct stk_ring_slot slots[STK_RING_SLOTS];
};

/* Begins an empty ring for this process. `name` differs from the names of all other rings. */
void stk_ring_begin(struct stk_ring *ring, uint64_t name);
/* Returns true if this process began the ring. */
bool stk_ring_is_own(const struct stk_ring *ring);

/* Takes a slot of at least so many bytes, with one holder. Returns its number in the ring, which is
 * valid for as long as the slot is held or lent, or -errno. */
int stk_ring_take(struct stk_ring *ring, size_t bytes);
void stk_ring_hold(struct stk_ring *ring, int slot);
void stk_ring_let_go(struct stk_ring *ring, int slot);

/* Returns the slot that an address lies in, or -1. */
int stk_ring_find(const struct stk_ring *ring, const void *address);

/* Closes the slot's descriptor: the receiver can map the slot, or will. */
void stk_ring_introduced(struct stk_ring *ring, int slot);

/* Ends a slot's loan: a message says how to map the slot, which is empty. The ring keeps the slot
 * for its next taker, whatever is in flight. */
void stk_ring_offer(struct stk_ring *ring, int slot);

/* Copies each slot that something lies over, before a fork. The child then sees the slot as it is
 * now, whatever this process writes after the fork. */
void stk_ring_keep(struct stk_ring *ring);
/* Drops these copies, in the parent, after the fork or its failure. */
void stk_ring_go_on(struct stk_ring *ring);
/* Unmaps each slot that nothing lies over, and puts the copies in the place of the others. For the
 * child, which then has no ring. */
void stk_ring_leave(struct stk_ring *ring);
/* Ends the worker's ring: nothing will be lent again. */
void stk_ring_end(struct stk_ring *ring);
