/* The priority of threads that work beside the job. */
#pragma once

/* Gives this thread the lowest priority that still makes progress: the job may be waiting for the
 * file that this thread fills. */
void priority_lower(void);
