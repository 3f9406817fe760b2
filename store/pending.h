/*
 * Values and links that one process holds until it may write. This is plain memory under the
 * caller's lock. A child of fork throws its copy away without freeing it. A struct of zeros is an
 * empty one.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define STK_STORE_PENDING_BYTES (8u << 20)
#define STK_STORE_PENDING_LINKS 512

/* Stands before each value. The value begins at a multiple of 64 bytes, with LMDB's own 16 bytes
 * before the head. */
struct stk_head {
    uint64_t check; /* of the value, with its key */
    uint64_t bytes;
    uint64_t spare[4];
};

struct stk_pending_value {
    struct stk_pending_value *next;
    struct stk_hash128 key;
    struct stk_head head;
    unsigned char body[];
};

struct stk_pending_link {
    struct stk_hash128 from, to;
};

struct stk_pending {
    struct stk_pending_value *values; /* the latest first */
    size_t bytes;
    _Atomic unsigned link_count; /* may be read without the lock */
    struct stk_pending_link links[STK_STORE_PENDING_LINKS];
};

/* Returns true if a value of this key is pending. */
bool stk_pending_has(const struct stk_pending *pending, struct stk_hash128 key);
/* Copies a value; `named` has its key and head. Returns false if there is no room or no memory. */
bool stk_pending_keep(struct stk_pending *pending, const struct stk_pending_value *named,
                      const void *body);
/* Returns the pending link of a key, or NULL. */
struct stk_pending_link *stk_pending_find_link(struct stk_pending *pending,
                                               struct stk_hash128 from);
/* Adds a link, or replaces the one of the same key. Returns false if there is no room. */
bool stk_pending_link(struct stk_pending *pending, const struct stk_pending_link *link);
/* Drops all values and links. Returns the number of values. */
unsigned stk_pending_drop(struct stk_pending *pending);
