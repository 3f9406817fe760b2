/* The arguments of `stoker verify`: which copies to compare. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WANTED_MOST_PATHS 16

struct wanted {
    const char *tier, *json;
    double part;     /* of all copies, from 0 to 1; below 0: not given */
    uint64_t sample; /* number of copies to compare */
    unsigned count;
    char *paths[WANTED_MOST_PATHS + 1]; /* canonical, if they exist; none: everything */
};

/* Parses the arguments behind the verb. Ends with a message if one is wrong. */
void wanted_parse(struct wanted *wanted, char **arguments);
/* Returns true if the original lies below one of the paths, or if no path is given. */
bool wanted_has(const struct wanted *wanted, const char *origin);
