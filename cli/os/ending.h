/* Says how the user's command ended. */
#pragma once

#include <stdint.h>

#define ENDING_UNKNOWN (-1)

/* Returns how many processes the kernel has killed so far for want of memory: those of this
 * process's control group (v2), or else of the machine. ENDING_UNKNOWN: the kernel does not say. */
int64_t ending_memory_kills(void);
/* Returns how many more these are than an earlier answer, or ENDING_UNKNOWN. */
int64_t ending_memory_kills_since(int64_t earlier);
/* Returns how the command ended, such as "was killed by SIGKILL", or NULL if it succeeded. `status`
 * is as of waitpid(). `kills`: how many processes were killed for want of memory meanwhile, or
 * ENDING_UNKNOWN. The caller frees. */
char *ending_text(int status, int64_t kills);
