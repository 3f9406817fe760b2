/* Tries a shared tier again that was left alone (cache/run/shared_request.h: a pause). The helper
 * asks the server itself, so no process of the job waits for a server that still hangs. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "cache/run/shared_request.h"
#include "cli/tiers/shared_tier.h"

/* Pauses that double from a second to a minute. */
struct shared_pause {
    int64_t pause_ns; /* 0: the first one is next */
};
/* Blocks for the next pause. */
void shared_pause_wait(struct shared_pause *pause);

/* Ends each pause of the requests once the shared tier has passed a test after it. Sets both
 * `errors` to 0 first. A tier that has served for a minute begins with the shortest pause again.
 * Returns when the requests are closed; blocks as long as the server does. For a thread of the
 * helper. */
void shared_tries_run(struct stk_shared_requests *requests, const struct shared_tier *shared,
                      atomic_uint errors[2]);
