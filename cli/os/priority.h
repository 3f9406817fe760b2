/* The priority of threads that work beside the job. */
#pragma once

/* Gives this thread a tenth of the job's share of a busy processor, in short slices. The job may be
 * waiting for the file that this thread fills, or for a lock that the kernel has given to this
 * thread. */
void priority_lower(void);
