/* The findings of `stoker verify`, and how they are printed. Threads that compare must add findings
 * under a lock of their own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/verify/compare.h"
#include "cli/verify/forms_check.h"

enum findings_kind { FINDINGS_ENTRY, FINDINGS_LISTING, FINDINGS_BLOCKS, FINDINGS_KINDS };

struct findings {
    uint64_t ends[FINDINGS_KINDS][COMPARE_ENDS];
    uint64_t bytes, failed; /* compared; copies that differ and could not be dropped */
    uint64_t closed;        /* directories of tiers that could not be looked into */
    struct forms_found forms;
    bool unchecked;       /* forms could not be checked, which was said */
    bool none;            /* there were no copies to look at */
    uint64_t passed_over; /* copies that were not chosen (--sample) */
    unsigned count, room;
    char **names, **whats; /* of the copies that differ */
};

/* Adds the result of one comparison. */
void findings_note(struct findings *found, enum findings_kind kind,
                   const struct compared *compared);
/* Adds only the difference. */
void findings_note_difference(struct findings *found, const struct compared *compared);

/* Returns the number of all compared copies. */
uint64_t findings_done(const struct findings *found);

/* Prints the findings for people on stdout, and on stderr what to do. */
void findings_print(const struct findings *found);
/* Writes the findings as JSON. Ends with a message if the file cannot be written. */
void findings_write_json(const struct findings *found, const char *path);
/* Returns the exit status: 1 if a copy differed; 2 if one could not be compared or dropped. */
int findings_status(const struct findings *found);
