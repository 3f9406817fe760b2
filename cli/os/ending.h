/* Says how the user's command ended. */
#pragma once

#include <stdint.h>

/* Returns how many processes the kernel has killed so far for want of memory: those of this
 * process's control group (v2), or else of the machine. 0: none, or the kernel does not say. */
uint64_t ending_memory_kills(void);
/* Returns how the command ended, such as "was killed by SIGKILL", or NULL if it succeeded. `status`
 * is as of waitpid(). `kills`: how many processes were killed for want of memory meanwhile. The
 * caller frees. */
char *ending_text(int status, uint64_t kills);
