/*
 * A slot: memory that a worker writes a batch into and its main process reads it from, again and
 * again. It is a file without a name, in no file system, that both map once; no descriptor of it
 * stays open, and it goes when the last process that has it mapped lets go of it or ends.
 *
 * Who has a slot is said in two places. What lies over it in the worker's own process only the
 * worker knows (ring.h). How often it is lent to others stands in the slot itself, so that it is
 * given back without a message, and a process that dies with it takes nobody else's. A slot is
 * written anew only when neither is the case, and never when it is kept: when a process forked that
 * had it in view, its child may look at it for as long as it likes.
 *
 * Nothing here is locked: the words are single atomic ones. Safe in threads and after fork, but for
 * one slot being mapped and unmapped.
 */
#ifndef STK_RING_SLOT_H
#define STK_RING_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One slot, as one process has it mapped. */
struct stk_slot {
    unsigned char *memory; /* begins at a page; NULL: not mapped */
    size_t bytes;
    struct stk_slot_words *words;
};

/* Which one it is: the ring's name, by chance, and a number that this ring gives but once. */
struct stk_slot_name {
    uint64_t ring, number;
};

enum stk_slot_mark {
    STK_SLOT_KEPT = 1, /* somebody unknown may look at it: never to be written again */
    STK_SLOT_OVER = 2, /* the worker has forgotten it: it will not be lent again */
};

/*
 * Makes one of at least so many bytes, all of which are there: writing to them needs no more
 * memory, so a machine that has none says so here, not by a signal. The descriptor by which others
 * map it, which is the caller's to close, or -errno.
 */
int stk_slot_make(struct stk_slot *out, size_t bytes, struct stk_slot_name name);
/* Maps another process's; the descriptor stays the caller's. 0, or -errno: -EINVAL for what is no
 * slot. */
int stk_slot_map(struct stk_slot *out, int fd);
void stk_slot_unmap(struct stk_slot *slot);

/* Whether the address lies in its memory; of one that is not mapped, none does. */
bool stk_slot_covers(const struct stk_slot *slot, const void *address);

/* To be asked of a mapped slot. */
struct stk_slot_name stk_slot_name(const struct stk_slot *slot);
/* The worker that made it, as it calls itself. */
pid_t stk_slot_owner(const struct stk_slot *slot);

/* Lends it once more: the worker, before it sends word of it. */
void stk_slot_lend(const struct stk_slot *slot);
/* Gives one of these back: whoever got it, when its last view has ended; all that it read and wrote
 * there has then been done. How often it still is lent. */
uint32_t stk_slot_give_back(const struct stk_slot *slot);
uint32_t stk_slot_times_lent(const struct stk_slot *slot);

void stk_slot_mark(const struct stk_slot *slot, enum stk_slot_mark mark);
bool stk_slot_has(const struct stk_slot *slot, enum stk_slot_mark mark);

/* Before a fork: copies the slot's memory for the child. Returns the copy, which the caller drops
 * or puts in place, or NULL if there is no memory for it. */
void *stk_slot_copy(const struct stk_slot *slot);
/* In the parent of a fork: unmaps a copy, which may be NULL. */
void stk_slot_drop_copy(const struct stk_slot *slot, void *copy);
/* In the child of a fork: puts the copy in the place of the slot's memory, which is then the
 * child's own. If `copy` is NULL, the child goes on sharing the slot's memory. */
void stk_slot_put_copy(const struct stk_slot *slot, void *copy);

/* Gives its memory back to the system, for all who have it mapped: for a slot that nobody looks
 * at. */
void stk_slot_empty(const struct stk_slot *slot);

#endif
