#include "cache/run/transient.h"

#include "base/clock.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/catalogue.h"

#define SHARE       16 /* a part of the budget */
#define MOST_BLOCKS ((INT64_C(1) << 30) / STK_BLOCK_BYTES)
#define ROOM_NS     (STK_NS_PER_S / 10) /* that is waited for */
#define DEAD_NS     (10 * STK_NS_PER_S) /* then no run comes back for these entries */

static size_t index_of(const struct stk_transients *transients,
                       const struct stk_transient *transient)
{
    STK_INVARIANT(transient >= transients->slots &&
                  transient < transients->slots + STK_TRANSIENT_SLOTS);
    return (size_t)(transient - transients->slots);
}

/* ---- the room ---- */

int64_t stk_transient_room(const struct stk_budget *budget)
{
    int64_t share = atomic_load(&budget->blocks) / SHARE;
    return share < MOST_BLOCKS ? share : MOST_BLOCKS;
}

int64_t stk_transient_left(const struct stk_transients *transients, unsigned tier,
                           const struct stk_budget *budget)
{
    int64_t left = stk_transient_room(budget);
    for (unsigned i = 0; i < STK_TRANSIENT_SLOTS; i++) {
        uint64_t taken = atomic_load(&transients->taken[i]);
        left -= taken % STK_TIERS == tier ? (int64_t)(taken / STK_TIERS) : 0;
    }
    return left;
}

int64_t stk_transient_spared(bool there, const struct stk_budget *budget)
{
    return there ? stk_transient_room(budget) / 2 : 0;
}

/* First what is taken, then what is left, as others do at the same time. */
bool stk_transient_take(struct stk_transients *transients, const struct stk_transient *transient,
                        bool there, unsigned tier, const struct stk_budget *budget, int64_t blocks)
{
    _Atomic uint64_t *taken = &transients->taken[index_of(transients, transient)];
    atomic_store(taken, (uint64_t)blocks * STK_TIERS + tier);
    if (stk_transient_left(transients, tier, budget) < stk_transient_spared(there, budget)) {
        atomic_store(taken, 0);
        return false;
    }
    return true;
}

unsigned stk_transient_tier(const struct stk_transients *transients,
                            const struct stk_transient *transient)
{
    return atomic_load(&transients->taken[index_of(transients, transient)]) % STK_TIERS;
}

int64_t stk_transient_blocks(const struct stk_transients *transients,
                             const struct stk_transient *transient)
{
    return (int64_t)(atomic_load(&transients->taken[index_of(transients, transient)]) / STK_TIERS);
}

/* ---- notes ---- */

static bool go_to(struct stk_transient *transient, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&transient->state, &from, to);
}

struct stk_transient *stk_transient_begin(struct stk_transients *transients, bool there,
                                          uint32_t record, const char *path)
{
    unsigned slots = there ? STK_TRANSIENT_SLOTS / 2 : STK_TRANSIENT_SLOTS;
    for (unsigned i = 0; i < slots; i++) {
        struct stk_transient *transient = &transients->slots[i];
        if (go_to(transient, STK_TRANSIENT_FREE, STK_TRANSIENT_MAKING)) {
            atomic_store(&transient->began_ns, stk_clock_boottime_ns());
            stk_text_copy(transient->path, sizeof transient->path, path);
            atomic_store(&transient->record, record);
            return transient;
        }
    }
    return NULL;
}

void stk_transient_opened(struct stk_transient *transient)
{
    atomic_store(&transient->state, STK_TRANSIENT_HERE);
}

void stk_transient_end(struct stk_transients *transients, struct stk_transient *transient)
{
    atomic_store(&transient->record, 0);
    atomic_store(&transients->taken[index_of(transients, transient)], 0);
    atomic_store(&transient->state, STK_TRANSIENT_FREE);
    atomic_fetch_add(&transients->freed, 1);
}

void stk_transient_gone(struct stk_transients *transients, struct stk_transient *transient,
                        int64_t blocks)
{
    unsigned tier = stk_transient_tier(transients, transient);
    atomic_store(&transients->taken[index_of(transients, transient)],
                 (uint64_t)blocks * STK_TIERS + tier);
    atomic_store(&transient->state, STK_TRANSIENT_GONE);
}

bool stk_transient_claim(struct stk_transient *transient)
{
    bool dead = stk_clock_boottime_ns() - atomic_load(&transient->began_ns) > DEAD_NS;
    return go_to(transient, STK_TRANSIENT_HERE, STK_TRANSIENT_GOING) ||
           (dead && go_to(transient, STK_TRANSIENT_MAKING, STK_TRANSIENT_GOING));
}

/* ---- asking for room ---- */

bool stk_transients_make_room(struct stk_transients *transients)
{
    uint32_t freed = atomic_load(&transients->freed), looked = atomic_load(&transients->looked);
    uint32_t asked = atomic_fetch_add(&transients->asked, 1) + 1;
    int64_t rest_ns = ROOM_NS, until_ns = stk_clock_boottime_ns() + ROOM_NS;
    stk_sys_futex_wake_all(&transients->asked);
    while ((int32_t)(looked - asked) < 0 && rest_ns > 0) {
        stk_sys_futex_wait(&transients->looked, looked, rest_ns);
        looked = atomic_load(&transients->looked);
        rest_ns = until_ns - stk_clock_boottime_ns();
    }
    return atomic_load(&transients->freed) != freed;
}

uint32_t stk_transients_wait(struct stk_transients *transients, int64_t timeout_ns)
{
    uint32_t asked = atomic_load(&transients->asked);
    if (asked == atomic_load(&transients->looked)) {
        stk_sys_futex_wait(&transients->asked, asked, timeout_ns);
    }
    return atomic_load(&transients->asked);
}

void stk_transients_looked(struct stk_transients *transients, uint32_t asked)
{
    atomic_store(&transients->looked, asked);
    stk_sys_futex_wake_all(&transients->looked);
}
