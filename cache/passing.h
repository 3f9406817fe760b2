/*
 * Passing entries: of files that no local tier has room for, and a shared tier has, or is to have.
 * Such an entry is made as any other, in a small room that all others leave free, and goes again
 * when the room is wanted, nobody has it open, and it is not waiting to be put there. How long that
 * takes is the shared tier's business: so half of the room is only for what comes from there. So
 * the origin is not read, no budget is exceeded, and whoever dies leaves an entry, which is in the
 * way of nobody but the next.
 *
 * A note of each lies in the run's file (cache/run.h): who makes one takes a note first, and says
 * when it is open; the command (cli/passing.h) drops what nobody has open, as it alone may ask the
 * kernel for that. Of two who take the last of the room at once both may step back, and none goes
 * beyond. Lock-free, no heap, safe in threads, after fork and in signal handlers.
 */
#ifndef STK_CACHE_PASSING_H
#define STK_CACHE_PASSING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/budget.h"
#include "cache/errand.h"

#define STK_PASSING_SLOTS 64

enum stk_passing_state {
    STK_PASSING_FREE,
    STK_PASSING_MAKING, /* not open yet, or its maker is dead */
    STK_PASSING_HERE,
    STK_PASSING_GOING,
    STK_PASSING_GONE /* unlinked, but open still, and not given back */
};

struct stk_passing {
    _Atomic uint32_t state;
    _Atomic uint32_t record; /* 0: not known yet */
    _Atomic int64_t began_ns;
    char path[STK_ERRAND_PATH_BYTES]; /* below any tier's tree */
};

struct stk_passings {
    _Atomic uint32_t asked, looked;            /* for room, and whoever makes it */
    _Atomic uint32_t freed;                    /* counts notes */
    _Atomic uint64_t rooms[STK_PASSING_SLOTS]; /* what each takes, and in which tier */
    struct stk_passing slots[STK_PASSING_SLOTS];
};

/* What entries leave free in such a budget, in blocks. */
int64_t stk_passing_room(const struct stk_budget *budget);
/* How much of that is still free in the tier with this number. */
int64_t stk_passing_left(const struct stk_passings *passings, unsigned tier,
                         const struct stk_budget *budget);

/* A note of an entry that is to be made, from the shared tier or on the way there; NULL: there are
 * too many. */
struct stk_passing *stk_passing_begin(struct stk_passings *passings, bool there, uint32_t record,
                                      const char *path);
/* Of the room in such a budget, what an entry leaves free to others, in blocks. */
int64_t stk_passing_spared(bool there, const struct stk_budget *budget);
/* Takes so many blocks of the room in that tier, and gives back what it has in another. False:
 * there is no such room. */
bool stk_passing_take(struct stk_passings *passings, const struct stk_passing *passing, bool there,
                      unsigned tier, const struct stk_budget *budget, int64_t blocks);
/* It is open, or was not wanted after all: it may go. */
void stk_passing_opened(struct stk_passing *passing);
/* There is no such entry, or none any more. */
void stk_passing_end(struct stk_passings *passings, struct stk_passing *passing);
/* Has those go that nobody has open. Whether any has gone; waits for that, a tenth of a second. */
bool stk_passings_make_room(struct stk_passings *passings);

/* ---- of those who make room ---- */

/* Waits until some is wanted, or for so long; the number of whoever has asked last. */
uint32_t stk_passings_wait(struct stk_passings *passings, int64_t timeout_ns);
/* They were looked at. */
void stk_passings_looked(struct stk_passings *passings, uint32_t asked);
/* Whether it is there, and whoever made it has it open by now or never will: then it is the
 * caller's, to be ended or to be left here (stk_passing_opened). */
bool stk_passing_claim(struct stk_passing *passing);
/* It was unlinked, and somebody has it open: so many blocks are to be given back later. */
void stk_passing_gone(struct stk_passings *passings, struct stk_passing *passing, int64_t blocks);
/* Which tier it is in, by the catalogue's number, and what it takes there. */
unsigned stk_passing_tier(const struct stk_passings *passings, const struct stk_passing *passing);
int64_t stk_passing_blocks(const struct stk_passings *passings, const struct stk_passing *passing);

#endif
