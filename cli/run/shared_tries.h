/* Tries a shared tier again that was left alone (cache/run/shared_request.h: a pause). The helper
 * asks the server itself, so no process of the job waits for a server that still hangs. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "cache/run/shared_request.h"
#include "cli/tiers/shared_tier.h"

/* The first pause is none, the second one a second, and each further one doubles, up to a minute.
 */
struct shared_pause {
    int64_t next_ns;
};
/* Blocks for the next pause, or for a moment if the run is about to end. */
void shared_pause_wait(struct stk_shared_requests *requests, struct shared_pause *pause);

/* Ends each pause of the requests once the shared tier has passed a test after it. Sets both
 * `errors` to 0 first. A tier that has served for a minute, or for eight times the next pause,
 * begins with no pause again.
 * Returns when the requests are closed; blocks as long as the server does. For a thread of the
 * helper. */
void shared_tries_run(struct stk_shared_requests *requests, const struct shared_tier *shared,
                      atomic_uint errors[2]);
