/*
 * A slot: shared memory that a worker writes batches into and its main process reads them from,
 * again and again. It is a file without a name, in no file system. Each of the two maps it once and
 * keeps no descriptor of it. It goes when the last process that has it mapped unmaps it or ends.
 *
 * Two places say whether a slot is in use. The worker alone knows what lies over it in its own
 * process (ring.h). A word in the slot counts how often it is lent to other processes. So a slot is
 * given back without a message, and if a process dies with one, no other slot is lost. A slot is
 * written anew only if both counts are zero.
 *
 * A slot marked as kept is never written anew: a process forked while it had the slot in view, and
 * the child may read it for as long as it likes.
 *
 * There are no locks: each word is atomic on its own. Safe in threads and after fork, except for
 * mapping and unmapping the same slot at the same time.
 */
#pragma once

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

/* A slot's name: the ring's random name, and a number that this ring gives only once. */
struct stk_slot_name {
    uint64_t ring, number;
};

enum stk_slot_mark {
    STK_SLOT_KEPT = 1,   /* an unknown process may read it: never to be written again */
    STK_SLOT_OVER = 2,   /* the worker has dropped it: it will not be lent again */
    STK_SLOT_MAPPED = 4, /* the receiver has mapped it without a ticket: a message may name it */
};

/*
 * Makes a slot of at least so many bytes. All of its memory is allocated here, so a lack of memory
 * is an error of this call and not a signal at a later write. Returns the descriptor by which other
 * processes map it, which is the caller's to close, or -errno.
 */
int stk_slot_make(struct stk_slot *out, size_t bytes, struct stk_slot_name name);
/* Maps another process's slot. The descriptor stays the caller's. Returns 0 or -errno: -EINVAL if
 * the descriptor is no slot's. */
int stk_slot_map(struct stk_slot *out, int fd);
void stk_slot_unmap(struct stk_slot *slot);

/* Maps the slot's memory once more, so that what this process and its children write there stays
 * their own. Returns it, or NULL. */
void *stk_slot_map_own(const struct stk_slot *slot, int fd);
void stk_slot_unmap_own(const struct stk_slot *slot, void *own);
/* Drops what was written there: it is the slot's memory again. Returns false if it cannot be
 * dropped. */
bool stk_slot_renew_own(const struct stk_slot *slot, void *own);

/* Returns true if the address lies in the slot's memory; false for a slot that is not mapped. */
bool stk_slot_covers(const struct stk_slot *slot, const void *address);

/* Returns the name of a mapped slot. */
struct stk_slot_name stk_slot_name(const struct stk_slot *slot);
/* Returns the process number of the worker that made the slot, as that process sees it. */
pid_t stk_slot_owner(const struct stk_slot *slot);

/* Lends the slot once more. The worker calls this before it sends the message about it. */
void stk_slot_lend(const struct stk_slot *slot);
/* Gives back one loan. The receiver calls this when its last view has ended, so all of its reads
 * and writes there are done. Returns the number of loans that are left. */
uint32_t stk_slot_give_back(const struct stk_slot *slot);
uint32_t stk_slot_times_lent(const struct stk_slot *slot);

void stk_slot_mark(const struct stk_slot *slot, enum stk_slot_mark mark);
bool stk_slot_has(const struct stk_slot *slot, enum stk_slot_mark mark);

/* Copies the slot's memory for the child, before a fork. Returns the copy, or NULL if there is no
 * memory for it. The caller drops the copy or puts it in place. */
void *stk_slot_copy(const struct stk_slot *slot);
/* Unmaps a copy, which may be NULL, in the parent of a fork. */
void stk_slot_drop_copy(const struct stk_slot *slot, void *copy);
/* Puts the copy in the place of the slot's memory, in the child of a fork; that memory is then the
 * child's own. If `copy` is NULL, the child goes on sharing the slot's memory. */
void stk_slot_put_copy(const struct stk_slot *slot, void *copy);

/* Gives the slot's memory back to the system, for all processes that have it mapped. Only for a
 * slot that no process reads. */
void stk_slot_empty(const struct stk_slot *slot);
