/* Finds where a job opens files while no covered file is opened. It looks from outside, at the
 * files that the job's processes have open at some moments. So opens cost nothing extra, and files
 * that are open only briefly may be missed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/args/request.h"

#define UNCOVERED_MOST 8

struct uncovered {
    unsigned count;
    struct {
        char *directory;      /* the directory that holds all of them */
        uint64_t files;       /* how often a file was seen open */
    } places[UNCOVERED_MOST]; /* those with the most files first */
    /* Covered files that were seen open, but were opened in a way that the library does not see. */
    uint64_t below;
};

/* Has later looks pass over a process that the command has started for itself. 0: none. */
void uncovered_pass_over(pid_t process);
/* Looks, now and then, unless files were served. */
void uncovered_look(const struct request *request, bool served, int64_t since_ns);
const struct uncovered *uncovered_read(void);

/* Returns another name of a covered path, if it stands among the command's arguments and is not
 * covered itself; else NULL. The caller frees. */
char *uncovered_other_name(const struct request *request);
