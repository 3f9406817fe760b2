/*
 * Revalidations for later. After a fill a process has to ask the origin once more whether the file
 * was changed meanwhile (cache/version/freshness.h): on a network file system that is a round trip,
 * for which the program would wait. Under `stoker run` the command asks in its place: the filler
 * queues the path here, and a thread of the command takes it.
 *
 * Until then the record is not fresh, and a process that wants the file asks itself. So nothing
 * depends on this queue. Without a free slot, or a taker for this root, the filler asks at once. If
 * the command is killed, the next open of the file asks.
 *
 * The queue lies in the run's file (cache/run/run.h). Lock-free, no heap, safe in threads, after
 * fork and in signal handlers, but for stk_revalidation_queue_take.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/origin/root.h"

#define STK_REVALIDATION_QUEUE_SLOTS      128
#define STK_REVALIDATION_QUEUE_PATH_BYTES 496

/* A slot: free, reserved by a process (its pid), or queued. */
struct stk_revalidation_queue_slot {
    _Alignas(8) _Atomic uint32_t state;
    uint32_t root; /* its index in `roots` */
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
};

struct stk_revalidation_queue {
    _Atomic uint32_t taker; /* the process that takes; 0: none */
    _Atomic uint32_t count; /* counts queued paths, for the takers to wait on */
    _Atomic uint32_t takers_waiting;
    _Atomic uint32_t next; /* where the search for a free slot begins */
    uint32_t root_count;
    uint64_t roots[STK_ROOTS]; /* the keys of the roots that the taker sees as the fillers do */
    struct stk_revalidation_queue_slot slots[STK_REVALIDATION_QUEUE_SLOTS];
};

/* Opens the queue for files below these roots. Process `taker` takes from it. */
void stk_revalidation_queue_open(struct stk_revalidation_queue *queue,
                                 const struct stk_roots *roots, pid_t taker);
/* Closes the queue, and ends the waits of all takers. */
void stk_revalidation_queue_close(struct stk_revalidation_queue *queue);

/* Reserves a slot, which is then to be queued or given back. Returns NULL if the caller shall ask
 * now: the taker always, since no other process asks for it. */
struct stk_revalidation_queue_slot *
stk_revalidation_queue_reserve(struct stk_revalidation_queue *queue, const struct stk_root *root,
                               const char *below);
/* Queues a reserved slot: the entry is there, so its origin can be asked. */
void stk_revalidation_queue_put(struct stk_revalidation_queue *queue,
                                struct stk_revalidation_queue_slot *slot);
/* Ends a reservation: queues the slot if the fill was good, else gives it back. NULL: there is
 * none. */
void stk_revalidation_queue_end(struct stk_revalidation_queue *queue,
                                struct stk_revalidation_queue_slot *slot, bool good);

/* Waits for a path: the key of its root, and the path below that. Returns false if the queue is
 * closed. Blocks. */
bool stk_revalidation_queue_take(struct stk_revalidation_queue *queue, uint64_t *root,
                                 char below[STK_REVALIDATION_QUEUE_PATH_BYTES]);
