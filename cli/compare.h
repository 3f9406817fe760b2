/*
 * One copy that a tier holds, against its origin, byte for byte. What differs is dropped, so that
 * no later open gets it; who has it open goes on reading it.
 *
 * A copy is held against its own version only. Where the origin has another one by now, or there is
 * nothing that can be read, nothing can be said of the copy, and it stays: it is served no more, or
 * will be right again.
 */
#ifndef STK_CLI_COMPARE_H
#define STK_CLI_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

enum compare_end {
    COMPARE_RIGHT,
    COMPARE_DIFFERS,
    COMPARE_CHANGED,    /* the origin has another version */
    COMPARE_GONE,       /* there is no such file any more, or its volume is not mounted here */
    COMPARE_UNREADABLE, /* the origin is there, and cannot be opened or read */
    COMPARE_LOST,       /* the copy went meanwhile */
    COMPARE_ENDS
};

struct compared {
    enum compare_end end;
    bool dropped;     /* of one that differs */
    bool others;      /* it is another member's of a group, whom nobody but he can drop it for */
    uint64_t bytes;   /* that were looked at */
    const char *what; /* is wrong with it, for people; NULL: the byte at `at` */
    uint64_t at;
    char origin[STK_PATH_BYTES];
};

/*
 * Compares the entry of this path, or what lies in its place, in the tier of this cache: that has
 * its roots, its tier's home, and, where it is known, its catalogue. `origin`: where it is from.
 * For threads.
 */
void compare_entry(struct stk_cache *cache, const char *entry, const char *origin,
                   struct compared *out);
/*
 * The same for a directory's listing (cache/listing.h), by its names. Where a directory's times do
 * not tell its version nothing is compared, and the listing counts as lost: the next run makes it
 * anew.
 */
void compare_listing(struct stk_cache *cache, const char *entry, const char *origin,
                     struct compared *out);
/* The same for the blocks of a big file that is not whole yet, by the name of their table. */
void compare_blocks(struct stk_cache *cache, const char *table, const char *origin,
                    struct compared *out);

#endif
