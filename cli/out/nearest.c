#include "cli/out/nearest.h"

#include <string.h>

#include "base/least.h"

enum { LONGEST = 40, MOST_ERRORS = 2 };

/* Returns the least number of letters to put in, take out or change, and of neighbours to swap.
 * Both words have at most LONGEST letters. */
static unsigned errors_between(const char *a, const char *b)
{
    uint64_t table[LONGEST + 1][LONGEST + 1];
    size_t rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            uint64_t changed = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            table[i][j] = stk_least(changed, stk_least(table[i - 1][j], table[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                table[i][j] = stk_least(table[i][j], table[i - 2][j - 2] + 1);
            }
        }
    }
    return (unsigned)table[rows][columns];
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
