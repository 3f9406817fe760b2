/* Makes the revalidations that the job's processes have queued (cache/run/revalidation_queue.h).
 * Several threads do so at once, since each waits for the origin. */
#pragma once

/* Starts the threads, after the environment was set. If none can be started, the job validates by
 * itself. */
void validator_begin(void);
/* Stops the threads. Does not wait for those that wait for the origin. */
void validator_end(void);
