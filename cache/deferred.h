/*
 * Validations that are put off. After a fill the origin has to be asked once more whether the file
 * was changed meanwhile (cache/trust.h): on a network file system a round trip, for which the
 * program would wait. Under `stoker run` the command asks in its place: the filler leaves the path
 * here, and a thread of the command takes it.
 *
 * Until then the record is not validated, and whoever wants the file asks himself. So nothing
 * depends on what lies here: where there is no room, or nobody who would ask for this root, the
 * filler asks as always; what is lost with a killed command is asked by the next who opens the
 * file.
 *
 * It lies in the run's file (cache/run.h). Lock-free, no heap, safe in threads, after fork and in
 * signal handlers, but for stk_deferred_take.
 */
#ifndef STK_CACHE_DEFERRED_H
#define STK_CACHE_DEFERRED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/root.h"

#define STK_DEFERRED_SLOTS      128
#define STK_DEFERRED_PATH_BYTES 496

/* Free, reserved by a process (its number), or what waits. */
struct stk_deferred_slot {
    _Alignas(8) _Atomic uint32_t state;
    uint32_t root; /* its place in `roots` */
    char below[STK_DEFERRED_PATH_BYTES];
};

struct stk_deferred {
    _Atomic uint32_t open;  /* 1: somebody takes */
    _Atomic uint32_t count; /* of what was ever put here, and to be waited for */
    _Atomic uint32_t takers_waiting;
    _Atomic uint32_t next; /* where to look for a free slot first */
    uint32_t root_count;
    uint64_t roots[STK_ROOTS]; /* the keys of those that the taker sees as the fillers do */
    struct stk_deferred_slot slots[STK_DEFERRED_SLOTS];
};

/* The taker begins: from now on validations of files below these roots may be put off. */
void stk_deferred_open(struct stk_deferred *deferred, const struct stk_roots *roots);
/* It ends: nothing more is put off, and those that wait for something to take end. */
void stk_deferred_close(struct stk_deferred *deferred);

/* A place for one validation, which is then to be put or given back; NULL: ask now. */
struct stk_deferred_slot *stk_deferred_reserve(struct stk_deferred *deferred,
                                               const struct stk_root *root, const char *below);
/* The entry is there: its origin can be asked. */
void stk_deferred_put(struct stk_deferred *deferred, struct stk_deferred_slot *slot);
void stk_deferred_give_back(struct stk_deferred_slot *slot);

/* Waits for one: the key of its root, and the path below that. False: it is closed. Blocks. */
bool stk_deferred_take(struct stk_deferred *deferred, uint64_t *root,
                       char below[STK_DEFERRED_PATH_BYTES]);

#endif
