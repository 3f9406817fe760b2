/* Compares forms with their origins, for `stoker verify`. Only the decoder knows what a form must
 * be, so a Python with the package `stoker` compares (wrappers/python/stoker/_verify.py). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct forms_wanted {
    double share;  /* part of the files to check, from 0 to 1 */
    char **paths;  /* directories or files of the origin; ended by NULL */
    uint64_t seed; /* chooses the files */
};

struct forms_found {
    uint64_t right, bytes; /* forms; bytes of their files */
    uint64_t unreadable;   /* files of the origin */
    uint64_t differ;       /* forms */
    uint64_t kept;         /* differing forms that could not be dropped */
};

/*
 * Compares the forms of the store that this value of STOKER_DECODED names, and drops forms that
 * differ. Calls `note` for each of these files, and now and then with NULL if the figures have
 * changed. Adds to `found`. Returns false if it could not be done, which was said.
 */
bool forms_check(const char *samples, const struct forms_wanted *wanted, struct forms_found *found,
                 void (*note)(const char *path));
