/* The claim word. See cache/claim.h. */
#include "cache/claim.h"

#include "base/proc.h"
#include "base/sys.h"

#define LOOK_NS (50 * 1000000LL) /* how often a waiter looks whether the filler lives */

/* Every bit has its place: a word that somebody has damaged is read and written as it is. */
uint64_t stk_claim_pack(struct stk_claim claim)
{
    return (uint64_t)claim.state | ((uint64_t)claim.leaf & 7) << 2 |
           (uint64_t)(claim.tier & 7) << 5 | ((uint64_t)claim.pid & 0xffffff) << 8 |
           (uint64_t)claim.detail << 32;
}

struct stk_claim stk_claim_unpack(uint64_t word)
{
    return (struct stk_claim){
        .state = (enum stk_state)(word & 3),
        .leaf = (enum stk_leaf)(word >> 2 & 7),
        .tier = (unsigned)(word >> 5 & 7),
        .pid = (pid_t)(word >> 8 & 0xffffff),
        .detail = (uint32_t)(word >> 32),
    };
}

bool stk_claim_change(_Atomic uint64_t *word, struct stk_claim seen, struct stk_claim wanted)
{
    uint64_t expected = stk_claim_pack(seen);
    if (!atomic_compare_exchange_strong_explicit(word, &expected, stk_claim_pack(wanted),
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        return false;
    }
    if (seen.state == STK_FILLING && wanted.state != STK_FILLING) {
        stk_sys_futex_wake_all(word);
    }
    return true;
}

bool stk_claim_take(_Atomic uint64_t *word, struct stk_claim seen)
{
    struct stk_claim mine = seen;
    mine.state = STK_FILLING;
    mine.pid = stk_sys_getpid();
    mine.detail = 0;
    return stk_claim_change(word, seen, mine);
}

static bool is_mine(struct stk_claim claim)
{
    return claim.state == STK_FILLING && claim.pid == stk_sys_getpid();
}

bool stk_claim_advance(_Atomic uint64_t *word)
{
    for (;;) {
        struct stk_claim seen = stk_claim_load(word);
        struct stk_claim next = seen;
        next.detail++;
        if (!is_mine(seen)) {
            return false;
        }
        if (stk_claim_change(word, seen, next)) {
            return true;
        }
    }
}

bool stk_claim_finish(_Atomic uint64_t *word, enum stk_state state, unsigned tier, uint32_t detail)
{
    for (;;) {
        struct stk_claim seen = stk_claim_load(word);
        if (!is_mine(seen)) {
            return false;
        }
        struct stk_claim ended = seen;
        ended.state = state;
        ended.tier = tier;
        ended.pid = 0;
        ended.detail = detail;
        if (stk_claim_change(word, seen, ended)) {
            return true;
        }
    }
}

void stk_claim_set_leaf(_Atomic uint64_t *word, enum stk_leaf leaf)
{
    for (;;) {
        struct stk_claim seen = stk_claim_load(word);
        struct stk_claim known = seen;
        known.leaf = leaf;
        if (seen.leaf == leaf || stk_claim_change(word, seen, known)) {
            return;
        }
    }
}

/* Of all who find it dead or stuck one succeeds. */
bool stk_claim_abandon(_Atomic uint64_t *word, struct stk_claim seen)
{
    struct stk_claim absent = seen;
    absent.state = STK_ABSENT;
    absent.pid = 0;
    absent.detail = 0;
    return stk_claim_change(word, seen, absent);
}

/* Whether nothing more is to be expected of a filler that has not got on for so long. One that was
 * killed may be a zombie for as long as its parent likes. */
static bool is_given_up(pid_t pid, int64_t idle_ns)
{
    return idle_ns > STK_CLAIM_PATIENCE_NS || !stk_sys_process_exists(pid) ||
           (idle_ns > LOOK_NS && stk_proc_is_over(pid));
}

bool stk_claim_wait(_Atomic uint64_t *word)
{
    uint64_t last = atomic_load_explicit(word, memory_order_acquire);
    int64_t moved_ns = stk_clock_boottime_ns();
    for (;;) {
        struct stk_claim claim = stk_claim_unpack(last);
        if (claim.state != STK_FILLING) {
            return true;
        }
        if (is_given_up(claim.pid, stk_clock_boottime_ns() - moved_ns)) {
            if (stk_claim_abandon(word, claim)) {
                return false;
            }
        } else {
            /* The low half, which the kernel compares, holds everything but the progress. */
            stk_sys_futex_wait(word, (uint32_t)last, LOOK_NS);
        }
        uint64_t now = atomic_load_explicit(word, memory_order_acquire);
        moved_ns = now != last ? stk_clock_boottime_ns() : moved_ns;
        last = now;
    }
}
