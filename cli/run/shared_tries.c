#include "cli/run/shared_tries.h"

#include <time.h>

#include "base/clock.h"
#include "base/sys.h"

#define SHORTEST_NS STK_NS_PER_S
#define LONGEST_NS  (60 * STK_NS_PER_S)
#define SERVICE     8 /* times the next pause, after which a missed deadline counts as the first */
#define HURRY_NS    (STK_NS_PER_S / 50)

void shared_pause_wait(struct stk_shared_requests *requests, struct shared_pause *pause)
{
    int64_t longer_ns = pause->next_ns == 0 ? SHORTEST_NS : 2 * pause->next_ns;
    if (pause->next_ns > 0) {
        stk_sys_futex_wait(&requests->hurry, 0, pause->next_ns);
    }
    if (atomic_load(&requests->hurry) != 0) {
        nanosleep(&(struct timespec){0, HURRY_NS}, NULL);
    }
    pause->next_ns = longer_ns < LONGEST_NS ? longer_ns : LONGEST_NS;
}

/* Returns how long the requests were open. */
static int64_t wait_for_pause(struct stk_shared_requests *requests)
{
    int64_t began_ns = stk_clock_boottime_ns();
    while (stk_shared_requests_are_open(requests)) {
        stk_sys_futex_wait(&requests->state, STK_SHARED_REQUESTS_OPEN, STK_NS_PER_S);
    }
    return stk_clock_boottime_ns() - began_ns;
}

static void end_pause(struct stk_shared_requests *requests, const struct shared_tier *shared,
                      struct shared_pause *pause, atomic_uint errors[2])
{
    do {
        shared_pause_wait(requests, pause);
    } while (stk_shared_requests_are_paused(requests) && shared_tier_try(shared) != 0);
    atomic_store(&errors[0], 0);
    atomic_store(&errors[1], 0);
    stk_shared_requests_resume(requests);
}

void shared_tries_run(struct stk_shared_requests *requests, const struct shared_tier *shared,
                      atomic_uint errors[2])
{
    struct shared_pause pause = {0};
    while (stk_shared_requests_go_on(requests)) {
        int64_t open_ns = wait_for_pause(requests);
        if (open_ns >= LONGEST_NS || open_ns >= SERVICE * pause.next_ns) {
            pause.next_ns = 0;
        }
        end_pause(requests, shared, &pause, errors);
    }
}
