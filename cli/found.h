/* What `stoker verify` has found, and how it is told. Whoever compares in several threads notes
 * under a lock of his own. */
#ifndef STK_CLI_FOUND_H
#define STK_CLI_FOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/compare.h"
#include "cli/forms_check.h"

enum found_kind { FOUND_ENTRY, FOUND_LISTING, FOUND_BLOCKS, FOUND_KINDS };

struct found {
    uint64_t ends[FOUND_KINDS][COMPARE_ENDS];
    uint64_t bytes, failed; /* compared; that differ and could not be dropped */
    uint64_t others;        /* that differ, in homes of other members of a group */
    uint64_t closed;        /* directories of tiers that could not be looked into */
    struct forms_found forms;
    bool unchecked;       /* forms, which was said */
    bool none;            /* there were no copies to look at */
    uint64_t passed_over; /* that were not chosen (--sample) */
    unsigned count, room;
    char **names, **whats; /* of what differs */
};

/* Notes how one copy compared; `home` is that of its tier, which is named where it is another
 * member's. */
void found_note(struct found *found, enum found_kind kind, const struct compared *compared,
                const char *home);
/* Only that it differs. */
void found_note_difference(struct found *found, const struct compared *compared, const char *home);

/* How many copies ended so, and in any way. */
uint64_t found_count(const struct found *found, enum compare_end end);
uint64_t found_done(const struct found *found);

/* For people, on stdout, and on stderr what is to be done. */
void found_print(const struct found *found);
/* For programs. Ends with a message where the file cannot be written. */
void found_write_json(const struct found *found, const char *path);
/* The exit status: 1, something differed; 2, something could not be compared, or dropped. */
int found_status(const struct found *found);

#endif
