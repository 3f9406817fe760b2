/*
 * What all symbols of the open family share: the decision, and the swap of a freshly filled entry
 * into the place of the origin's descriptor.
 */
#ifndef STK_PRELOAD_SERVE_OPEN_H
#define STK_PRELOAD_SERVE_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "cache/cache.h"

/* What an open is for. */
enum stk_open_kind {
    STK_OPEN_READ,  /* a plain read-only open of a file: may be served */
    STK_OPEN_WRITE, /* opens for writing, or truncates */
    STK_OPEN_MAKE,  /* for reading, but makes the file if it is not there */
    STK_OPEN_OTHER  /* directories, O_PATH, O_DIRECT, O_NOATIME (owners only): the origin's own
                       business */
};
enum stk_open_kind stk_open_kind_of(int flags);

/*
 * One read-only open under way. Use: stk_serve_begin; if it says HIT, open ask.entry and tell
 * stk_serve_hit or stk_serve_hit_failed, all that inside one guard, since each costs a hit time.
 * If it was no hit, leave the guard, make the real call and tell stk_serve_end its fd; that has a
 * guard of its own, so that the real call is made outside of any.
 */
struct stk_serve {
    struct stk_cache *cache;
    const struct stk_place *place;
    enum stk_answer answer;
    struct stk_ask ask;
    uint64_t writings; /* before it was asked */
    bool stream;       /* libc will read it, where no blocks can be given: set before the end */
};
enum stk_answer stk_serve_begin(struct stk_serve *serve, struct stk_cache *cache,
                                const struct stk_place *place, bool nofollow);
/* The entry was opened: counts the hit. */
void stk_serve_hit(struct stk_serve *serve);
/* The entry could not be opened, with this errno. */
void stk_serve_hit_failed(struct stk_serve *serve, int error);
/* The real call returned origin_fd >= 0; afterwards that number may be the entry's. `flags` are
 * those that an open(2) of the entry shall have. */
void stk_serve_end(struct stk_serve *serve, int origin_fd, int flags);

#endif
