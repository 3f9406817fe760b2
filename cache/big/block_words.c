/* The claim words of blocks. See cache/big/blocks.h. */
#include "base/clock.h"
#include "base/sys.h"
#include "cache/big/blocks.h"

#define PAID 1

/* A damaged word shall not count as a present block. */
static uint32_t check_of(const struct stk_big_blocks *blocks, uint64_t block)
{
    return (uint32_t)((blocks->stamp + block) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

bool stk_big_blocks_is_present(const struct stk_big_blocks *blocks, uint64_t block)
{
    struct stk_claim claim = stk_claim_load(&blocks->words[block]);
    return claim.state == STK_PRESENT && claim.detail == check_of(blocks, block);
}

bool stk_big_blocks_are_all_present(const struct stk_big_blocks *blocks)
{
    uint64_t seen = atomic_load(&blocks->table->there), there = seen;
    while (there < blocks->count && stk_big_blocks_is_present(blocks, there)) {
        there++;
    }
    if (there > seen) {
        atomic_compare_exchange_strong(&blocks->table->there, &seen, there);
    }
    return there >= blocks->count;
}

/* Another thread of this process is another filler: so each begins to count somewhere else. */
uint64_t stk_big_blocks_take(const struct stk_big_blocks *blocks, uint64_t block)
{
    struct stk_claim seen = stk_claim_load(&blocks->words[block]);
    struct stk_claim mine = seen;
    mine.state = STK_FILLING;
    mine.pid = stk_sys_getpid();
    mine.detail =
        stk_claim_first((uint32_t)stk_clock_boottime_ns() ^ (uint32_t)(uintptr_t)&mine << 16);
    bool taken = seen.state == STK_ABSENT && stk_claim_change(&blocks->words[block], seen, mine);
    return taken ? stk_claim_pack(mine) : 0;
}

static bool go_on(const struct stk_big_blocks *blocks, uint64_t block, uint64_t *held,
                  struct stk_claim next)
{
    bool ours = stk_claim_change(&blocks->words[block], stk_claim_unpack(*held), next);
    *held = ours ? stk_claim_pack(next) : *held;
    return ours;
}

bool stk_big_blocks_pay(const struct stk_big_blocks *blocks, uint64_t block, uint64_t *held)
{
    struct stk_claim next = stk_claim_unpack(*held);
    next.tier = PAID;
    return go_on(blocks, block, held, next);
}

bool stk_big_blocks_is_paid(uint64_t held)
{
    return stk_claim_unpack(held).tier == PAID;
}

bool stk_big_blocks_advance(const struct stk_big_blocks *blocks, uint64_t block, uint64_t *held)
{
    struct stk_claim next = stk_claim_unpack(*held);
    next.detail = stk_claim_next(next.detail);
    return go_on(blocks, block, held, next);
}

bool stk_big_blocks_publish(const struct stk_big_blocks *blocks, uint64_t block, uint64_t held)
{
    struct stk_claim next = stk_claim_unpack(held);
    next.state = STK_PRESENT;
    next.pid = 0;
    next.detail = check_of(blocks, block);
    return go_on(blocks, block, &held, next);
}

void stk_big_blocks_give_up(const struct stk_big_blocks *blocks, uint64_t block, uint64_t held)
{
    struct stk_claim next = stk_claim_unpack(held);
    next.state = STK_ABSENT;
    next.pid = 0;
    next.detail = 0;
    go_on(blocks, block, &held, next);
}

/* ---- waiting ---- */

/* Also takes away the stuck filler's claims on later blocks that have not moved since; another
 * process's claims may be only a moment old. */
void stk_big_blocks_wait(const struct stk_big_blocks *blocks, uint64_t block)
{
    uint64_t seen[STK_BIG_BLOCKS_GROUP], left = blocks->count - block;
    unsigned count = left < STK_BIG_BLOCKS_GROUP ? (unsigned)left : STK_BIG_BLOCKS_GROUP;
    for (unsigned i = 0; i < count; i++) {
        seen[i] = atomic_load(&blocks->words[block + i]);
    }
    if (stk_claim_wait(&blocks->words[block])) {
        return;
    }
    for (unsigned i = 1; i < count; i++) {
        struct stk_claim claim = stk_claim_unpack(seen[i]);
        if (claim.state == STK_FILLING && claim.pid == stk_claim_unpack(seen[0]).pid) {
            stk_claim_abandon(&blocks->words[block + i], claim);
        }
    }
}
