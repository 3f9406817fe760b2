/* What sample stores may use of a tier. See cache/grant.h. */
#include "cache/grant.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/samples.h"
#include "base/sys.h"
#include "base/text.h"

/* One 64th of the budget: the next step is taken when less than one is left. */
#define STEP_SHARE        64
#define LEAST_STEP_BLOCKS (INT64_C(4) << 20) / STK_BLOCK_BYTES
#define MOST_STEP_BLOCKS  (INT64_C(1) << 30) / STK_BLOCK_BYTES
/* The store's directories and files. */
#define INODES 8

static int64_t blocks_of(const char *directory)
{
    struct stat stat;
    return stk_sys_fstatat(AT_FDCWD, directory, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? stat.st_blocks
                                                                                 : 0;
}

/* With the two directories that it lies in, which were made for it. */
static int64_t used_of(const struct stk_tier *tier, uint64_t namespace)
{
    char path[STK_HOME_BYTES + 128], name[STK_SAMPLES_NAME_BYTES];
    int64_t blocks = 0, inodes, room;
    struct stk_text text = stk_text_in(path, sizeof path);
    if (!stk_samples_name(namespace, name)) {
        return 0;
    }
    stk_text_add(&text, tier->home);
    stk_text_add(&text, "/" STK_SAMPLES_ROOM);
    room = blocks_of(path);
    stk_text_add(&text, "/");
    stk_text_add(&text, name);
    return stk_account_walk(path, 0, NULL, &blocks, &inodes) == 0 ? blocks + blocks_of(path) + room
                                                                  : 0;
}

int64_t stk_grant_used_blocks(const struct stk_tier *tier)
{
    return used_of(tier, stk_samples_namespace());
}

static int64_t unused_of(const struct stk_tier *tier, const struct stk_grant *grant)
{
    int64_t granted = atomic_load(&grant->blocks);
    int64_t unused = granted > 0 ? granted - used_of(tier, atomic_load(&grant->namespace)) : 0;
    return unused > 0 ? unused : 0;
}

/* One by one within what the budget says is used: the catalogue may be damaged. */
int64_t stk_grant_aside_blocks(const struct stk_tier *tier)
{
    int64_t left = atomic_load(&tier->shared->budget.used_blocks), aside = 0;
    for (int i = 0; i < STK_GRANTS && left > aside; i++) {
        int64_t unused = unused_of(tier, &tier->shared->grants[i]);
        aside += unused < left - aside ? unused : left - aside;
    }
    return aside;
}

struct stk_grant *stk_grant_find(struct stk_tier *tier)
{
    uint64_t namespace = stk_samples_namespace();
    for (int i = 0; i < STK_GRANTS && namespace != 0; i++) {
        struct stk_grant *grant = &tier->shared->grants[i];
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&grant->namespace, &seen, namespace)) {
            atomic_store(&grant->blocks, stk_grant_used_blocks(tier));
            return grant;
        }
        if (seen == namespace) {
            return grant;
        }
    }
    return NULL;
}

int64_t stk_grant_raise(struct stk_tier *tier, struct stk_grant *grant, int64_t blocks)
{
    struct stk_budget *budget = &tier->shared->budget;
    int64_t left = stk_budget_left(budget);
    blocks = blocks < left ? blocks : left;
    int64_t inodes = atomic_exchange(&grant->inodes, INODES) == 0 ? INODES : 0;
    if (blocks <= 0 || stk_tier_take(tier->shared, blocks, inodes) != STK_TOOK) {
        if (inodes != 0) {
            atomic_store(&grant->inodes, 0);
        }
        return 0;
    }
    atomic_fetch_add(&grant->blocks, blocks);
    return blocks;
}

void stk_grant_want(struct stk_grant *grant, int64_t blocks)
{
    atomic_store(&grant->wanted_blocks, blocks);
}

struct stk_grant *stk_grant_find_wanting(const struct stk_tier *tier)
{
    uint64_t namespace = 0;
    for (int i = 0; i < STK_GRANTS; i++) {
        struct stk_grant *grant = &tier->shared->grants[i];
        if (atomic_load_explicit(&grant->wanted_blocks, memory_order_relaxed) <= 0) {
            continue;
        }
        namespace = namespace != 0 ? namespace : stk_samples_namespace();
        if (namespace != 0 && atomic_load(&grant->namespace) == namespace) {
            return grant;
        }
    }
    return NULL;
}

/* What is refused for want of room stays so: this is none. */
void stk_grant_leave(struct stk_tier *tier, struct stk_grant *grant, int64_t blocks)
{
    atomic_fetch_add(&grant->blocks, blocks);
    atomic_fetch_sub(&grant->wanted_blocks, blocks);
    stk_tier_release(tier->shared, 0, 1);
}

void stk_grant_forget(struct stk_tier *tier)
{
    stk_tier_release(tier->shared, stk_grant_aside_blocks(tier), 0);
    for (int i = 0; i < STK_GRANTS; i++) {
        struct stk_grant *grant = &tier->shared->grants[i];
        atomic_store(&grant->blocks, 0);
        atomic_store(&grant->inodes, 0);
        atomic_store(&grant->wanted_blocks, 0);
        atomic_store(&grant->namespace, 0);
    }
}

int64_t stk_grant_step_blocks(const struct stk_tier *tier)
{
    int64_t step = tier->shared->budget.blocks / STEP_SHARE;
    step = step > LEAST_STEP_BLOCKS ? step : LEAST_STEP_BLOCKS;
    return step < MOST_STEP_BLOCKS ? step : MOST_STEP_BLOCKS;
}
