/*
 * Forms against their origins, for `stoker verify`. What a form must be, only the decoder can tell:
 * so a Python with the package `stoker` does it (wrappers/python/stoker/_verify.py).
 */
#ifndef STK_CLI_FORMS_CHECK_H
#define STK_CLI_FORMS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct forms_wanted {
    double share;  /* of the files, from 0 to 1 */
    char **paths;  /* directories or files of the origin; ended by NULL */
    uint64_t seed; /* which files that are */
};

struct forms_found {
    uint64_t right, bytes; /* forms; bytes of their files */
    uint64_t unreadable;   /* files of the origin */
    uint64_t differ;       /* forms */
    uint64_t kept;         /* of these, could not be dropped */
};

/*
 * Compares what the store that this value of STOKER_SAMPLES names has of the files, and drops what
 * differs; `note` is told of each of these files, and now and then with NULL that the figures have
 * changed. Adds to `found`. False: it could not be done, which was said.
 */
bool forms_check(const char *samples, const struct forms_wanted *wanted, struct forms_found *found,
                 void (*note)(const char *path));

#endif
