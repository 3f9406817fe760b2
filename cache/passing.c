/* Passing entries. See cache/passing.h. */
#include "cache/passing.h"

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue.h"

#define SHARE       16 /* a part of the budget */
#define MOST_BLOCKS ((INT64_C(1) << 30) / STK_BLOCK_BYTES)
#define ROOM_NS     (STK_NS_PER_S / 10) /* that is waited for */
#define DEAD_NS     (10 * STK_NS_PER_S) /* then nobody comes back for what he has made */

/* ---- the room ---- */

int64_t stk_passing_room(const struct stk_budget *budget)
{
    int64_t share = atomic_load(&budget->blocks) / SHARE;
    return share < MOST_BLOCKS ? share : MOST_BLOCKS;
}

int64_t stk_passing_left(const struct stk_passings *passings, unsigned tier,
                         const struct stk_budget *budget)
{
    int64_t left = stk_passing_room(budget);
    for (unsigned i = 0; i < STK_PASSING_SLOTS; i++) {
        uint64_t room = atomic_load(&passings->rooms[i]);
        left -= room % STK_TIERS == tier ? (int64_t)(room / STK_TIERS) : 0;
    }
    return left;
}

int64_t stk_passing_spared(bool there, const struct stk_budget *budget)
{
    return there ? stk_passing_room(budget) / 2 : 0;
}

/* First what is taken, then what is left, as others do at the same time. */
bool stk_passing_take(struct stk_passings *passings, const struct stk_passing *passing, bool there,
                      unsigned tier, const struct stk_budget *budget, int64_t blocks)
{
    _Atomic uint64_t *room = &passings->rooms[passing - passings->slots];
    atomic_store(room, (uint64_t)blocks * STK_TIERS + tier);
    if (stk_passing_left(passings, tier, budget) < stk_passing_spared(there, budget)) {
        atomic_store(room, 0);
        return false;
    }
    return true;
}

unsigned stk_passing_tier(const struct stk_passings *passings, const struct stk_passing *passing)
{
    return atomic_load(&passings->rooms[passing - passings->slots]) % STK_TIERS;
}

int64_t stk_passing_blocks(const struct stk_passings *passings, const struct stk_passing *passing)
{
    return (int64_t)(atomic_load(&passings->rooms[passing - passings->slots]) / STK_TIERS);
}

/* ---- notes ---- */

static bool go_to(struct stk_passing *passing, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&passing->state, &from, to);
}

struct stk_passing *stk_passing_begin(struct stk_passings *passings, bool there, uint32_t record,
                                      const char *path)
{
    unsigned slots = there ? STK_PASSING_SLOTS / 2 : STK_PASSING_SLOTS;
    for (unsigned i = 0; i < slots; i++) {
        struct stk_passing *passing = &passings->slots[i];
        if (go_to(passing, STK_PASSING_FREE, STK_PASSING_MAKING)) {
            atomic_store(&passing->began_ns, stk_clock_boottime_ns());
            stk_text_copy(passing->path, sizeof passing->path, path);
            atomic_store(&passing->record, record);
            return passing;
        }
    }
    return NULL;
}

void stk_passing_opened(struct stk_passing *passing)
{
    atomic_store(&passing->state, STK_PASSING_HERE);
}

void stk_passing_end(struct stk_passings *passings, struct stk_passing *passing)
{
    atomic_store(&passing->record, 0);
    atomic_store(&passings->rooms[passing - passings->slots], 0);
    atomic_store(&passing->state, STK_PASSING_FREE);
    atomic_fetch_add(&passings->freed, 1);
}

void stk_passing_gone(struct stk_passings *passings, struct stk_passing *passing, int64_t blocks)
{
    unsigned tier = stk_passing_tier(passings, passing);
    atomic_store(&passings->rooms[passing - passings->slots], (uint64_t)blocks * STK_TIERS + tier);
    atomic_store(&passing->state, STK_PASSING_GONE);
}

bool stk_passing_claim(struct stk_passing *passing)
{
    bool dead = stk_clock_boottime_ns() - atomic_load(&passing->began_ns) > DEAD_NS;
    return go_to(passing, STK_PASSING_HERE, STK_PASSING_GOING) ||
           (dead && go_to(passing, STK_PASSING_MAKING, STK_PASSING_GOING));
}

/* ---- asking for room ---- */

bool stk_passings_make_room(struct stk_passings *passings)
{
    uint32_t freed = atomic_load(&passings->freed), looked = atomic_load(&passings->looked);
    uint32_t asked = atomic_fetch_add(&passings->asked, 1) + 1;
    int64_t rest_ns = ROOM_NS, until_ns = stk_clock_boottime_ns() + ROOM_NS;
    stk_sys_futex_wake_all(&passings->asked);
    while ((int32_t)(looked - asked) < 0 && rest_ns > 0) {
        stk_sys_futex_wait(&passings->looked, looked, rest_ns);
        looked = atomic_load(&passings->looked);
        rest_ns = until_ns - stk_clock_boottime_ns();
    }
    return atomic_load(&passings->freed) != freed;
}

uint32_t stk_passings_wait(struct stk_passings *passings, int64_t timeout_ns)
{
    uint32_t asked = atomic_load(&passings->asked);
    if (asked == atomic_load(&passings->looked)) {
        stk_sys_futex_wait(&passings->asked, asked, timeout_ns);
    }
    return atomic_load(&passings->asked);
}

void stk_passings_looked(struct stk_passings *passings, uint32_t asked)
{
    atomic_store(&passings->looked, asked);
    stk_sys_futex_wake_all(&passings->looked);
}
