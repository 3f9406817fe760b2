/*
 * Watching while the command runs. The memory: when very little is left, entries of tiers in
 * memory are removed (cache/pressure.h). Removing one is always safe: whoever has it open keeps
 * reading. The sample store, which is granted more when it needs it. And validations that the job
 * has put off (cli/validator.h).
 */
#ifndef STK_CLI_WATCH_H
#define STK_CLI_WATCH_H

#include <stdint.h>

#include "cli/session.h"

/*
 * Starts a thread that watches, five times a second and when it is asked to, for as long as this
 * process lives or until watch_end; none for tiers on disks without samples. And one that counts
 * anew what the tiers hold of which that was begun, which nobody waits for, and then makes room of
 * old versions (cli/superseded.h).
 */
void watch_begin(struct session *session);
/* Stops them. Returns how many bytes of entries it removed. */
uint64_t watch_end(void);

#endif
