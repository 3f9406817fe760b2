/* Places: where a path lies below the covered roots. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/path.h"
#include "cache/cache_core.h"

/* One covered path. `dirfd` and `path` are the program's own and reach the origin. */
struct stk_place {
    const struct stk_root *root;
    int dirfd;
    const char *path;
    struct stk_hash128 key;
    char below[STK_PATH_BYTES]; /* folded, relative to the root */
};

/* Fills `place`. Returns true if `absolute` lies in a usable root, for which the cache can answer.
 * `absolute` may lie in `place->below`, which saves a buffer. */
bool stk_cache_place(struct stk_cache *cache, const char *absolute, int dirfd, const char *path,
                     struct stk_place *place);

/* Fills `place` for a directory, which may be the root itself. `absolute` may end in slashes. The
 * place's `below` ends in a slash, unless it is the root's: it is no file's, and listings are known
 * by it (cache/listing/listing.h). */
bool stk_cache_place_directory(struct stk_cache *cache, const char *absolute, int dirfd,
                               const char *path, struct stk_place *place);

#define STK_LISTING_FORM                                                                           \
    UINT64_C(0x31676e697473696c) /* counted up when a listing's form changes                       \
                                  */

/* Returns the key by which the catalogue knows a directory: `below` is its path below the root,
 * without a slash at the end. It is no file's key. */
struct stk_hash128 stk_listing_key(const struct stk_root *root, const char *below, size_t length);
