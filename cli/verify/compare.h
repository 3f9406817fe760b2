/*
 * Compares one copy in a tier with its origin, byte for byte. A copy that differs is dropped, so
 * that no later open gets it. A process that has it open goes on reading it.
 *
 * A copy is compared with its own version only. If the origin has another version by now, or cannot
 * be read, nothing is known of the copy, and it stays. Either it is no longer served, or it will be
 * right again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

enum compare_end {
    COMPARE_RIGHT,
    COMPARE_DIFFERS,
    COMPARE_CHANGED,    /* the origin has another version */
    COMPARE_GONE,       /* the file is gone, or its volume is not mounted here */
    COMPARE_UNREADABLE, /* the origin exists, and cannot be opened or read */
    COMPARE_LOST,       /* the copy went meanwhile */
    COMPARE_ENDS
};

struct compared {
    enum compare_end end;
    bool dropped;     /* the differing copy was dropped */
    uint64_t bytes;   /* that were compared */
    const char *what; /* the difference, in words; NULL: the byte at `at` differs */
    uint64_t at;
    char origin[STK_PATH_BYTES];
};

/* Compares the entry of this path, or whatever lies there, with `origin`. `cache` has the roots,
 * the tier's home and, if it is known, the catalogue. Safe in threads. */
void compare_entry(struct stk_cache *cache, const char *entry, const char *origin,
                   struct compared *out);
/* Compares a directory's listing (cache/listing/listing.h) with the directory's names. If the
 * directory's times do not identify its version, nothing is compared, and the listing counts as
 * lost: the next run makes it anew. */
void compare_listing(struct stk_cache *cache, const char *entry, const char *origin,
                     struct compared *out);
/* Compares the blocks of a big file that is not complete yet. `table` is the path of the blocks'
 * table. */
void compare_blocks(struct stk_cache *cache, const char *table, const char *origin,
                    struct compared *out);
