/* What the origin served, by the reason why: how many opens, how much, and what would change it. */
#ifndef STK_CLI_BYPASSED_H
#define STK_CLI_BYPASSED_H

#include <stdint.h>

#include "cache/run.h"
#include "cli/say.h"

/* Why that is, and what would change it; NULL: nothing does. By enum stk_bypass. */
extern const char *const bypassed_meanings[STK_BYPASS_KINDS];
extern const char *const bypassed_settings[STK_BYPASS_KINDS];

/* Opens that the origin served. Of big files those count whose blocks are not cached, either. */
uint64_t bypassed_count(const struct stk_run_counts *counts, int why);

/* Of what size the files are, into a buffer of the caller's, which is returned: at most so much,
 * where it is not known which of the opens were of the same file. */
#define BYPASSED_SIZE_TEXT (STK_SIZE_TEXT + 8)
const char *bypassed_size(char out[BYPASSED_SIZE_TEXT], const struct stk_run_counts *counts,
                          int why);

/* All of it on stderr, a line for each reason. */
void bypassed_print(const uint64_t bypassed[STK_BYPASS_KINDS]);

#endif
