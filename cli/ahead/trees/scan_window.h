/* The directories that are listed ahead of a process that lists all those in one: next by which
 * sorting, and how many. The caller holds a lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/listing/listing.h"

enum scan_sorting { SCAN_BY_NAME, SCAN_AS_LISTED, SCAN_SORTINGS };

/* The directories in a listing, by each sorting. Only as long as the listing is open. */
struct scan_names {
    const char **in[SCAN_SORTINGS];
    unsigned count;
};

struct scan {
    uint64_t above;                                  /* the directory that they are in */
    unsigned window;                                 /* directories listed ahead; 0: none yet */
    unsigned from[SCAN_SORTINGS], to[SCAN_SORTINGS]; /* of these, by each sorting */
    uint64_t listed, followed; /* directories ahead; those that the scan came to */
};

/* Returns true if the name is that of a directory below its own. */
bool scan_is_directory(const struct stk_listing_name *name);
void scan_names_take(struct scan_names *names, const struct stk_listing *listing);
void scan_names_free(struct scan_names *names);
/* Notes that a process had to list `leaf`. Returns true if directories are to be listed ahead:
 * those in the ranges of the scan. */
bool scan_go_on(struct scan *scan, const struct scan_names *names, const char *leaf);
