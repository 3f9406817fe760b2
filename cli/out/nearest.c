#include "cli/out/nearest.h"

#include <string.h>

#include "base/least.h"

enum { LONGEST = 40, MOST_ERRORS = 2 };

/* Returns the least number of letters to put in, take out or change. Two neighbours in the wrong
 * order are two. Both words have at most LONGEST letters. */
static unsigned errors_between(const char *a, const char *b)
{
    uint64_t row[LONGEST + 1];
    size_t length = strlen(b);
    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        uint64_t before = row[0]; /* of the row above, one to the left */
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            uint64_t changed = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            row[j] = stk_least(changed, stk_least(row[j], row[j - 1]) + 1);
        }
    }
    return (unsigned)row[length];
}

struct nearest nearest_to(const char *word)
{
    return (struct nearest){.word = word, .best = NULL, .errors = MOST_ERRORS + 1};
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
    if (strlen(nearest->word) > LONGEST || strlen(candidate) > LONGEST) {
        return;
    }
    unsigned errors = errors_between(nearest->word, candidate);
    if (errors < nearest->errors && 2 * errors < strlen(candidate)) {
        nearest->best = candidate;
        nearest->errors = errors;
    }
}
