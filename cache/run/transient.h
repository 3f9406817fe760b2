/*
 * Transient entries: of files that no local tier has room for, but a shared tier has or shall have.
 * Such an entry is made like any other, in a small part of the budget that all others leave free.
 * The command removes it when that room is wanted, no process has it open, and it is not queued to
 * be published. How long that takes is the shared tier's business, so half of the room is only for
 * what comes from there. So the origin is not read, and no budget is exceeded. A process that dies
 * leaves an entry, which is only in the way of the next.
 *
 * The run's file (cache/run/run.h) has a slot for each. A process takes a slot before it makes the
 * entry, and notes when the entry is open. The command (cli/run/transient_entries.h) removes those
 * that no process has open, since only it may ask the kernel for that. If two processes take the
 * last of the room at once, both may step back, and none goes beyond. Lock-free, no heap, safe in
 * threads, after fork and in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/budget.h"
#include "cache/run/shared_request.h"

#define STK_TRANSIENT_SLOTS 64

enum stk_transient_state {
    STK_TRANSIENT_FREE,
    STK_TRANSIENT_MAKING, /* not open yet, or its filler is dead */
    STK_TRANSIENT_HERE,
    STK_TRANSIENT_GOING,
    STK_TRANSIENT_GONE /* unlinked, but open still, and not given back */
};

struct stk_transient {
    _Atomic uint32_t state;
    _Atomic uint32_t record; /* 0: not known yet */
    _Atomic int64_t began_ns;
    char path[STK_SHARED_REQUEST_PATH_BYTES]; /* below any tier's tree */
};

struct stk_transients {
    _Atomic uint32_t asked, looked;              /* counts requests for room, and answers */
    _Atomic uint32_t freed;                      /* counts notes */
    _Atomic uint64_t taken[STK_TRANSIENT_SLOTS]; /* what each takes, and in which tier */
    struct stk_transient slots[STK_TRANSIENT_SLOTS];
};

/* Returns the room for transient entries in such a budget, in blocks. */
int64_t stk_transient_room(const struct stk_budget *budget);
/* Returns how much of that is still free in the tier with this number. */
int64_t stk_transient_left(const struct stk_transients *transients, unsigned tier,
                           const struct stk_budget *budget);

/* Takes a slot for an entry that is to be made. `there`: the entry is on its way to the shared
 * tier, and not from it. Returns NULL if no slot is free. */
struct stk_transient *stk_transient_begin(struct stk_transients *transients, bool there,
                                          uint32_t record, const char *path);
/* Returns how much of the room in such a budget an entry leaves free to others, in blocks. */
int64_t stk_transient_spared(bool there, const struct stk_budget *budget);
/* Takes so many blocks of the room in that tier, and gives back what the slot has in another.
 * Returns false if there is no such room. */
bool stk_transient_take(struct stk_transients *transients, const struct stk_transient *transient,
                        bool there, unsigned tier, const struct stk_budget *budget, int64_t blocks);
/* Notes that the entry is open, or was not wanted after all: it may be removed. */
void stk_transient_opened(struct stk_transient *transient);
/* Frees the slot of an entry that was not made, or was removed. */
void stk_transient_end(struct stk_transients *transients, struct stk_transient *transient);
/* Asks the command to remove entries that no process has open, and waits a tenth of a second.
 * Returns true if any was removed. */
bool stk_transients_make_room(struct stk_transients *transients);

/* ---- for the command ---- */

/* Waits until room is wanted, or for so long. Returns the number of the last request. */
uint32_t stk_transients_wait(struct stk_transients *transients, int64_t timeout_ns);
/* Notes that the slots were searched for the request of that number. */
void stk_transients_looked(struct stk_transients *transients, uint32_t asked);
/* Returns true if the entry is there, and its filler has it open by now or is dead. The slot is
 * then the caller's, to be ended or released (stk_transient_opened). */
bool stk_transient_claim(struct stk_transient *transient);
/* Notes that the entry was unlinked while a process has it open: so many blocks are to be given
 * back later. */
void stk_transient_gone(struct stk_transients *transients, struct stk_transient *transient,
                        int64_t blocks);
/* Return the number of the entry's tier in the catalogue, and how many blocks the entry takes
 * there. */
unsigned stk_transient_tier(const struct stk_transients *transients,
                            const struct stk_transient *transient);
int64_t stk_transient_blocks(const struct stk_transients *transients,
                             const struct stk_transient *transient);
