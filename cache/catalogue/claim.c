#include "cache/catalogue/claim.h"

#include "base/hash.h"
#include "base/invariant.h"
#include "base/proc.h"
#include "base/sys.h"

#define LOOK_NS       (50 * 1000000LL) /* how often a waiter looks whether the filler lives */
#define PROGRESS_BITS 24
#define PROGRESS      ((UINT32_C(1) << PROGRESS_BITS) - 1)

/* Every bit has its place: a damaged word is read and written as it is. */
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

/* Returns true if a claim may go from `seen` to `wanted`: a filling names its filler, and only a
 * filling ends with an entry or a refusal. */
__attribute__((unused)) static bool may_follow(struct stk_claim seen, struct stk_claim wanted)
{
    if (wanted.state == STK_FILLING) {
        return wanted.pid > 0;
    }
    return wanted.state == STK_ABSENT || wanted.state == seen.state || seen.state == STK_FILLING;
}

bool stk_claim_change(_Atomic uint64_t *word, struct stk_claim seen, struct stk_claim wanted)
{
    uint64_t expected = stk_claim_pack(seen);
    if (!atomic_compare_exchange_strong_explicit(word, &expected, stk_claim_pack(wanted),
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        return false;
    }
    STK_INVARIANT(may_follow(seen, wanted));
    if (seen.state == STK_FILLING && wanted.state != STK_FILLING) {
        stk_sys_futex_wake_all(word);
    }
    return true;
}

/* ---- whose pid it is ---- */

static uint32_t mark_of(uint64_t namespace)
{
    return namespace == 0 ? 0 : (uint32_t)(stk_hash_64(&namespace, sizeof namespace, 0) % 255 + 1);
}

/* Returns the mark of this process's pid namespace, or 0 if it is unknown. */
static uint32_t own_mark(void)
{
    return mark_of(stk_proc_pid_namespace());
}

static bool is_of_another_namespace(struct stk_claim claim)
{
    uint32_t mark = claim.detail >> PROGRESS_BITS, own = mark != 0 ? own_mark() : 0;
    return own != 0 && mark != own;
}

uint32_t stk_claim_first(uint32_t progress)
{
    return own_mark() << PROGRESS_BITS | (progress & PROGRESS);
}

uint32_t stk_claim_next(uint32_t detail)
{
    return (detail & ~PROGRESS) | ((detail + 1) & PROGRESS);
}

bool stk_claim_is_dead(struct stk_claim claim)
{
    return !is_of_another_namespace(claim) && !stk_sys_process_exists(claim.pid);
}

/* ---- filling ---- */

bool stk_claim_take(_Atomic uint64_t *word, struct stk_claim seen)
{
    struct stk_claim mine = seen;
    mine.state = STK_FILLING;
    mine.pid = stk_sys_getpid();
    mine.detail = stk_claim_first(0);
    return stk_claim_change(word, seen, mine);
}

static bool is_mine(struct stk_claim claim)
{
    return claim.state == STK_FILLING && claim.pid == stk_sys_getpid() &&
           !is_of_another_namespace(claim);
}

bool stk_claim_advance(_Atomic uint64_t *word)
{
    for (;;) {
        struct stk_claim seen = stk_claim_load(word);
        struct stk_claim next = seen;
        next.detail = stk_claim_next(seen.detail);
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

/* If several processes find the filler dead or stuck, one succeeds. */
bool stk_claim_abandon(_Atomic uint64_t *word, struct stk_claim seen)
{
    struct stk_claim absent = seen;
    absent.state = STK_ABSENT;
    absent.pid = 0;
    absent.detail = 0;
    return stk_claim_change(word, seen, absent);
}

/* Returns true if a filler without progress for so long will not finish. A killed filler may stay a
 * zombie for as long as its parent likes. */
static bool is_given_up(struct stk_claim claim, int64_t idle_ns)
{
    return idle_ns > STK_CLAIM_PATIENCE_NS || stk_claim_is_dead(claim) ||
           (idle_ns > LOOK_NS && !is_of_another_namespace(claim) && stk_proc_is_over(claim.pid));
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
        if (is_given_up(claim, stk_clock_boottime_ns() - moved_ns)) {
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
