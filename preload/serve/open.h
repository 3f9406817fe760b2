/*
 * Serves an open, for all symbols of the open family: decides, and swaps a freshly filled entry
 * into the place of the origin's descriptor.
 */
#pragma once

#include <stdbool.h>

#include "cache/cache.h"

/* The purpose of an open. */
enum stk_open_kind {
    STK_OPEN_READ,  /* a plain read-only open of a file: may be served */
    STK_OPEN_WRITE, /* opens for writing, or truncates */
    STK_OPEN_MAKE,  /* for reading, but makes the file if it is not there */
    STK_OPEN_OTHER  /* directories, O_PATH, O_DIRECT, O_NOATIME (owners only): left to the origin */
};
enum stk_open_kind stk_open_kind_of(int flags);

/*
 * One read-only open under way. Call stk_serve_begin. If it returns HIT, open ask.entry, then call
 * stk_serve_hit or stk_serve_hit_failed. Do all that inside one guard, since a second guard would
 * slow down each hit.
 *
 * If it was no hit, leave the guard, make the real call and give its descriptor to stk_serve_end.
 * stk_serve_end has a guard of its own, so that the real call is made outside of any.
 */
struct stk_serve {
    struct stk_cache *cache;
    const struct stk_place *place;
    enum stk_answer answer;
    struct stk_lookup ask;
    struct stk_outcome fetched; /* of a hit: a FILL if the shared tier gave it just now */
    uint64_t writings;          /* before the cache was asked */
    bool stream; /* libc will read it, where blocks cannot be given; set before the end */
};
enum stk_answer stk_serve_begin(struct stk_serve *serve, struct stk_cache *cache,
                                const struct stk_place *place, bool nofollow);
/* Counts the hit after the entry was opened. */
void stk_serve_hit(struct stk_serve *serve);
/* Notes that the entry could not be opened, with this errno. */
void stk_serve_hit_failed(struct stk_serve *serve, int error);
/* Ends an open for which the real call returned origin_fd >= 0. Afterwards that number may be the
 * entry's. `flags` are those that an open(2) of the entry shall have. */
void stk_serve_end(struct stk_serve *serve, int origin_fd, int flags);
