#include "cache/tier/tier_count.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cache/tier/ledger.h"

#define AHEAD_SHARE 64
#define LOOK_NS     STK_NS_PER_S

uint64_t stk_tier_hash(const char *home)
{
    return stk_hash_64(home, strlen(home), 0) | 1;
}

/* One of the two things that are counted. */
struct counted {
    const _Atomic int64_t *allowed;
    _Atomic int64_t *used, *others, *limit;
    int64_t *announced, *ever; /* in the shared count */
};

static struct counted blocks_of(struct stk_budget *budget, struct stk_ledger *count)
{
    return (struct counted){&budget->blocks,        &budget->used_blocks,
                            &budget->others_blocks, &budget->limit_blocks,
                            &count->blocks,         &count->ever_announced_blocks};
}

static struct counted inodes_of(struct stk_budget *budget, struct stk_ledger *count)
{
    return (struct counted){&budget->inodes,        &budget->used_inodes,
                            &budget->others_inodes, &budget->limit_inodes,
                            &count->inodes,         &count->ever_announced_inodes};
}

/* A damaged catalogue may hold any number: sums of several of these are numbers, too. */
static int64_t load(const _Atomic int64_t *number)
{
    const int64_t most = INT64_MAX / 16;
    int64_t value = atomic_load(number);
    return value < -most ? -most : value < most ? value : most;
}

/* So much ahead as the budget leaves. */
static int64_t ahead_of(const struct counted *counted, int64_t used, bool exactly)
{
    int64_t allowed = load(counted->allowed);
    int64_t step = exactly ? 0 : allowed / AHEAD_SHARE, left = allowed - used;
    return step < left ? step : left > 0 ? left : 0;
}

/* Learns what the other catalogues hold, and announces what this one does. A catalogue that gives
 * back what others took holds less than nothing. The limit is lowered before and raised after what
 * is used: a process that takes in between announces once more. */
static void exchange(const struct counted *counted, bool exactly)
{
    int64_t others = load(counted->others);
    int64_t announced = load(counted->limit) - others;
    int64_t others_now = *counted->announced - announced;
    int64_t used = load(counted->used) + others_now - others;
    int64_t limit = used + ahead_of(counted, used, exactly);
    if (others_now > others) {
        atomic_fetch_add(counted->used, others_now - others);
        atomic_store(counted->limit, limit);
    } else {
        atomic_store(counted->limit, limit);
        atomic_fetch_sub(counted->used, others - others_now);
    }
    atomic_store(counted->others, others_now);
    int64_t more = limit - others_now - announced;
    *counted->announced = limit;
    *counted->ever += more > 0 ? more : 0;
}

/* Returns true if the tier has a home that was attached: the catalogue may be damaged there. */
static bool is_counted(const struct stk_tier_shared *tier)
{
    return memchr(tier->home, '\0', sizeof tier->home) != NULL &&
           stk_tier_hash(tier->home) == atomic_load(&tier->path_hash);
}

int stk_tier_announce(struct stk_tier_shared *tier, bool exactly)
{
    struct stk_ledger count;
    if (!is_counted(tier)) {
        return 0;
    }
    int fd = stk_ledger_open(tier->home, &count);
    if (fd < 0) {
        return fd;
    }
    struct counted blocks = blocks_of(&tier->budget, &count);
    struct counted inodes = inodes_of(&tier->budget, &count);
    exchange(&blocks, exactly);
    exchange(&inodes, exactly);
    atomic_store(&tier->budget.announced_ns, stk_clock_boottime_ns());
    return stk_ledger_close(fd, &count);
}

static bool is_announced(const struct stk_tier_shared *tier)
{
    const struct stk_budget *budget = &tier->budget;
    return !is_counted(tier) ||
           (atomic_load(&budget->used_blocks) <= atomic_load(&budget->limit_blocks) &&
            atomic_load(&budget->used_inodes) <= atomic_load(&budget->limit_inodes));
}

static bool is_exceeded(const struct stk_budget *budget)
{
    return atomic_load(&budget->used_blocks) > atomic_load(&budget->blocks) ||
           atomic_load(&budget->used_inodes) > atomic_load(&budget->inodes);
}

/* Reserves; where it does not fit, others may have given back since we last looked. */
static bool reserve(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes)
{
    struct stk_budget *budget = &tier->budget;
    int64_t seen = atomic_load(&budget->announced_ns), now = stk_clock_boottime_ns();
    return stk_budget_reserve(budget, blocks, inodes) ||
           ((uint64_t)now - (uint64_t)seen > LOOK_NS && stk_tier_announce(tier, false) == 0 &&
            stk_budget_reserve(budget, blocks, inodes));
}

/* Another thread may hold the lock for so long, and announce what this one took as well. */
static int announce_taken(struct stk_tier_shared *tier)
{
    int error = stk_tier_announce(tier, false);
    return error == -EAGAIN && is_announced(tier) ? 0 : error;
}

int stk_tier_take(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes)
{
    if (!reserve(tier, blocks, inodes)) {
        return -EDQUOT;
    }
    if (is_announced(tier)) {
        return 0;
    }
    int error = announce_taken(tier);
    if (error == 0 && !is_exceeded(&tier->budget)) {
        return 0;
    }
    stk_budget_release(&tier->budget, blocks, inodes);
    return error == 0 ? -EDQUOT : error;
}

void stk_tier_release(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes)
{
    struct stk_budget *budget = &tier->budget;
    stk_budget_release(budget, blocks, inodes);
    int64_t ahead = load(&budget->limit_blocks) - load(&budget->used_blocks);
    if (is_counted(tier) && ahead > 2 * (load(&budget->blocks) / AHEAD_SHARE) + 8) {
        stk_tier_announce(tier, false); /* for the others to take */
    }
}

void stk_tier_free(struct stk_tier_shared *tier, int64_t blocks, int64_t inodes)
{
    stk_tier_release(tier, blocks, inodes);
    stk_budget_try_again(&tier->budget);
}

/* ---- counting anew ---- */

int stk_tier_recount_begin(struct stk_tier_shared *tier, struct stk_recount *recount)
{
    struct stk_ledger count = {.blocks = 0};
    int error = stk_tier_announce(tier, true);
    int fd = error == 0 ? stk_ledger_open(tier->home, &count) : error;
    if (fd < 0) {
        return fd;
    }
    *recount = (struct stk_recount){count.ever_announced_blocks, count.ever_announced_inodes};
    return stk_ledger_close(fd, NULL);
}

/* Moves what is used into its bounds. The correction counts as held by other catalogues. */
static void correct(const struct counted *counted, int64_t found, int64_t ever_before,
                    int64_t slack)
{
    int64_t meanwhile = *counted->ever - ever_before;
    int64_t used = load(counted->used), right = used;
    right = right < found - meanwhile ? found - meanwhile : right;
    right = right > found + meanwhile + slack ? found + meanwhile + slack : right;
    atomic_fetch_add(counted->limit, right - used);
    atomic_fetch_add(counted->others, right - used);
    atomic_fetch_add(counted->used, right - used);
    *counted->announced += right - used;
}

/* Other catalogues may have announced what they have not taken; beside our own there are none. */
static int64_t slack_of(const struct stk_tier_shared *tier, int64_t allowed)
{
    return tier->pays ? 0 : allowed / (AHEAD_SHARE / 2);
}

int stk_tier_recount_end(struct stk_tier_shared *tier, const struct stk_recount *recount,
                         const atomic_bool *stop)
{
    struct stk_ledger count = {.blocks = 0};
    struct stk_budget *budget = &tier->budget;
    int64_t found_blocks, found_inodes;
    int error = stk_ledger_walk(tier->home, 0, stop, &found_blocks, &found_inodes);
    if (error == 0) {
        error = stk_tier_announce(tier, true);
    }
    int fd = error == 0 ? stk_ledger_open(tier->home, &count) : error;
    if (fd < 0) {
        return fd;
    }
    struct counted blocks = blocks_of(budget, &count), inodes = inodes_of(budget, &count);
    correct(&blocks, found_blocks, recount->ever_announced_blocks,
            slack_of(tier, atomic_load(&budget->blocks)));
    correct(&inodes, found_inodes, recount->ever_announced_inodes,
            slack_of(tier, atomic_load(&budget->inodes)));
    error = stk_ledger_close(fd, &count);
    stk_budget_try_again(budget);
    return error;
}
