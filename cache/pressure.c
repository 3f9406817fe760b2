/* Giving way under memory pressure. See cache/pressure.h. */
#include "cache/pressure.h"

#include "base/clock.h"
#include "base/memory.h"

#define SHARE       20
#define LEAST_BYTES (INT64_C(64) << 20)
#define MOST_BYTES  (INT64_C(2) << 30)
#define PAUSE_NS    (STK_NS_PER_S / 10)
#define PAUSE_BYTES (LEAST_BYTES / 4)

int64_t stk_pressure_little(int64_t total_bytes)
{
    int64_t little = total_bytes / SHARE;
    little = little > LEAST_BYTES ? little : LEAST_BYTES;
    return little < MOST_BYTES ? little : MOST_BYTES;
}

bool stk_pressure_is_on(void)
{
    return stk_memory_available_bytes() < stk_pressure_little(stk_memory_total_bytes());
}

bool stk_pressure_admits(struct stk_tier_shared *tier, int64_t bytes)
{
    if (tier->memory == 0) {
        return true;
    }
    bytes += atomic_fetch_add(&tier->pressure_admitted_bytes, bytes);
    int64_t now = stk_clock_boottime_ns();
    int64_t looked = atomic_load(&tier->pressure_looked_ns);
    bool long_ago = (uint64_t)now - (uint64_t)looked > PAUSE_NS; /* or it is to come */
    if ((long_ago || (uint64_t)bytes > PAUSE_BYTES) &&
        atomic_compare_exchange_strong(&tier->pressure_looked_ns, &looked, now)) {
        atomic_store(&tier->pressure_admitted_bytes, 0);
        bool pressed = stk_pressure_is_on();
        if (atomic_exchange(&tier->pressed, pressed) != 0 && !pressed) {
            stk_budget_free(&tier->budget, 0, 0);
        }
    }
    return atomic_load(&tier->pressed) == 0;
}

int64_t stk_pressure_excess(void)
{
    int64_t little = stk_pressure_little(stk_memory_total_bytes());
    int64_t available = stk_memory_available_bytes();
    return available < little / 2 ? little - available : 0;
}
