/*
 * What one process keeps aside until it may write: values, and links. Plain memory: the caller has
 * a lock, and throws it away in a child of fork without a word (a struct of zeros is an empty one).
 */
#ifndef STK_STORE_ASIDE_H
#define STK_STORE_ASIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "store/store.h"

/* Before each value; what follows begins at a multiple of 64 bytes, LMDB's own 16 before it. */
struct stk_head {
    uint64_t check; /* of the value, with its key */
    uint64_t bytes;
    uint64_t spare[4];
};

struct stk_aside_value {
    struct stk_aside_value *next;
    struct stk_hash128 key;
    struct stk_head head;
    unsigned char body[];
};

struct stk_aside_link {
    struct stk_hash128 from, to;
};

struct stk_aside {
    struct stk_aside_value *values; /* the latest first */
    size_t bytes;
    _Atomic unsigned link_count; /* may be looked at without the lock */
    struct stk_aside_link links[STK_STORE_ASIDE_LINKS];
};

bool stk_aside_has(const struct stk_aside *aside, struct stk_hash128 key);
/* Copies it; `named` has its key and head. False: there is no room, or no memory. */
bool stk_aside_keep(struct stk_aside *aside, const struct stk_aside_value *named, const void *body);
struct stk_aside_link *stk_aside_find_link(struct stk_aside *aside, struct stk_hash128 from);
/* Takes the place of one that is there. False: there is no room. */
bool stk_aside_link(struct stk_aside *aside, const struct stk_aside_link *link);
/* Forgets everything; how many values these were. */
unsigned stk_aside_drop(struct stk_aside *aside);

#endif
