/* The words for opens that the origin served: their number and size by reason, and what would
 * change it. */
#pragma once

#include <stdint.h>

#include "cache/run/run.h"
#include "cli/out/say.h"

/* The meaning of each reason, and the setting that would change it (NULL: none does). By enum
 * stk_bypass. */
extern const char *const bypassed_meanings[STK_BYPASS_KINDS];
extern const char *const bypassed_settings[STK_BYPASS_KINDS];

/* Returns the reason in a word or two, for people; and as a key of --json. stk_bypass_name() is the
 * key of earlier versions. */
const char *bypassed_word(int why);
const char *bypassed_key(enum stk_bypass why);

/* Returns the opens that the origin served for this reason. Opens of big files whose blocks are not
 * cached count as well. */
uint64_t bypassed_count(const struct stk_run_counts *counts, int why);

/* Writes the size of these files into the caller's buffer, and returns the buffer. Says "at most"
 * if it is unknown which of the opens were of the same file. */
#define BYPASSED_SIZE_TEXT (STK_SIZE_TEXT + 8)
const char *bypassed_size(char out[BYPASSED_SIZE_TEXT], const struct stk_run_counts *counts,
                          int why);

/* Prints a line for each reason on stderr. */
void bypassed_print(const uint64_t bypassed[STK_BYPASS_KINDS]);
