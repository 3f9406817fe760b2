/*
 * Where a job opens files, while none of them is covered: seen from outside, by what the job's
 * processes have open at some moments. Nothing is added to an open for that, and what is open only
 * briefly may not be seen.
 */
#ifndef STK_CLI_ELSEWHERE_H
#define STK_CLI_ELSEWHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/request.h"

#define ELSEWHERE_MOST 8

struct elsewhere {
    unsigned count;
    struct {
        char *directory;      /* that holds all of them */
        uint64_t files;       /* how often one was seen open */
    } places[ELSEWHERE_MOST]; /* those with the most files first */
    /* The same of files that are covered, and were opened in a way that is not seen. */
    uint64_t below;
};

/* Looks, now and then; not when files were served. */
void elsewhere_look(const struct request *request, bool served, int64_t since_ns);
const struct elsewhere *elsewhere_read(void);

/* Another name of a covered path that stands among the command's arguments, and is not covered, or
 * NULL. The caller frees. */
char *elsewhere_other_name(const struct request *request);

#endif
