/*
 * Big files that are to be made whole (cache/big.h): whoever finds one leaves it here, and threads
 * of the command fill it block by block, several at once, each by a descriptor of its own. So one
 * huge file is filled by as many threads as many small ones; blocks that are there or that others
 * fill cost nothing, and what was begun once is gone on with.
 *
 * The file that is wanted most comes first: one that an open waits for, one that is mapped, one
 * that is read, and then what is only filled ahead. What
 * nobody has asked for (it yields) leaves the job the way while that reads by the origin what it
 * will have cached: one thread goes on, at a quarter of its pace.
 */
#ifndef STK_CLI_WHOLE_H
#define STK_CLI_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/begun.h"
#include "cache/big.h"
#include "cache/cache.h"
#include "cli/desk.h"

/* How much a file is wanted. */
enum whole_rank { WHOLE_AHEAD, WHOLE_READ, WHOLE_MAPPED, WHOLE_AWAITED };

/* What became of one. */
struct whole_end {
    uint64_t bytes;      /* of the file */
    uint64_t filled;     /* of these, for whoever came first; 0: all was there */
    enum stk_bypass why; /* NONE: it is whole */
};

/* A file to be filled. `told` hears of its end, from any thread; `ticket`: cache/begun.h, or 0. */
struct whole_file {
    enum whole_rank rank;
    bool yields;
    uint64_t ticket;
    void (*told)(const struct whole_end *end);
    void (*came)(uint64_t bytes); /* of blocks, for whoever came first; or NULL */
};

/* One thread's hands: the file that it is at. */
struct hand {
    struct desk desk;
    struct stk_big big;
    uint64_t turn; /* of what it has open; 0: nothing */
};

/* Before any thread. The cache must stay. `begun`: where the job says what it does, or NULL. May be
 * called again with the same. */
void whole_begin(struct stk_cache *cache, struct stk_begun *begun);

/* What becomes of a file that is to be filled: LEFT here; WHOLE already; REFUSED, since not all of
 * it has room in the budget, or for another reason that `end` tells; LATER: there are too many. */
enum whole_taken { WHOLE_LEFT, WHOLE_THERE, WHOLE_REFUSED, WHOLE_LATER };
/* Leaves a large file, open as `fd` since `opened_ns`, to be filled. One that is here already is
 * given the higher rank, and both hear of its end. */
enum whole_taken whole_add(const struct stk_place *place, uint32_t record, int fd,
                           int64_t opened_ns, const struct whole_file *file, struct whole_end *end);

void hand_set_up(struct hand *hand);
/* Fills one block of what is wanted most. If there is nothing to do, waits for it while `more`
 * says that there may be. False: there was nothing. */
bool whole_step(struct hand *hand, bool (*more)(void));
/* The thread ends. */
void hand_close(struct hand *hand);
/* Something has changed that `more` looks at. */
void whole_wake(void);

/* Whether there is a file here. */
bool whole_is_any(void);
/* How much of those that are here is to come, and how many they are. */
uint64_t whole_left_bytes(uint64_t *files);

#endif
