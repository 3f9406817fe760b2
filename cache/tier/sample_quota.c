#include "cache/tier/sample_quota.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/proc.h"
#include "base/samples.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/tier/ledger.h"

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
    int64_t blocks = 0, inodes, directory;
    if (!stk_samples_name(namespace, name)) {
        return 0;
    }
    stk_text_print(path, sizeof path, "%s/" STK_SAMPLES_DIRECTORY, tier->home);
    directory = blocks_of(path);
    stk_text_print(path, sizeof path, "%s/" STK_SAMPLES_DIRECTORY "/%s", tier->home, name);
    return stk_ledger_walk(path, 0, NULL, &blocks, &inodes) == 0
               ? blocks + blocks_of(path) + directory
               : 0;
}

int64_t stk_sample_quota_used_blocks(const struct stk_tier *tier)
{
    return used_of(tier, stk_proc_pid_namespace());
}

static int64_t unused_of(const struct stk_tier *tier, const struct stk_sample_quota *quota)
{
    int64_t granted = atomic_load(&quota->blocks);
    int64_t unused = granted > 0 ? granted - used_of(tier, atomic_load(&quota->namespace)) : 0;
    return unused > 0 ? unused : 0;
}

/* One by one within what the budget says is used: the catalogue may be damaged. */
int64_t stk_sample_quota_unused_blocks(const struct stk_tier *tier)
{
    int64_t left = atomic_load(&tier->shared->budget.used_blocks), unused_sum = 0;
    for (int i = 0; i < STK_SAMPLE_QUOTAS && left > unused_sum; i++) {
        int64_t unused = unused_of(tier, &tier->shared->quotas[i]);
        unused_sum += unused < left - unused_sum ? unused : left - unused_sum;
    }
    return unused_sum;
}

struct stk_sample_quota *stk_sample_quota_find(struct stk_tier *tier)
{
    uint64_t namespace = stk_proc_pid_namespace();
    for (int i = 0; i < STK_SAMPLE_QUOTAS && namespace != 0; i++) {
        struct stk_sample_quota *quota = &tier->shared->quotas[i];
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&quota->namespace, &seen, namespace)) {
            atomic_store(&quota->blocks, stk_sample_quota_used_blocks(tier));
            return quota;
        }
        if (seen == namespace) {
            return quota;
        }
    }
    return NULL;
}

int64_t stk_sample_quota_raise(struct stk_tier *tier, struct stk_sample_quota *quota,
                               int64_t blocks)
{
    struct stk_budget *budget = &tier->shared->budget;
    int64_t left = stk_budget_left(budget);
    blocks = blocks < left ? blocks : left;
    int64_t inodes = atomic_exchange(&quota->inodes, INODES) == 0 ? INODES : 0;
    if (blocks <= 0 || stk_tier_take(tier->shared, blocks, inodes) != 0) {
        if (inodes != 0) {
            atomic_store(&quota->inodes, 0);
        }
        return 0;
    }
    atomic_fetch_add(&quota->blocks, blocks);
    return blocks;
}

void stk_sample_quota_want(struct stk_sample_quota *quota, int64_t blocks)
{
    atomic_store(&quota->wanted_blocks, blocks);
}

struct stk_sample_quota *stk_sample_quota_find_wanting(const struct stk_tier *tier)
{
    uint64_t namespace = 0;
    for (int i = 0; i < STK_SAMPLE_QUOTAS; i++) {
        struct stk_sample_quota *quota = &tier->shared->quotas[i];
        if (atomic_load_explicit(&quota->wanted_blocks, memory_order_relaxed) <= 0) {
            continue;
        }
        namespace = namespace != 0 ? namespace : stk_proc_pid_namespace();
        if (namespace != 0 && atomic_load(&quota->namespace) == namespace) {
            return quota;
        }
    }
    return NULL;
}

/* This frees no room, so refused files stay refused. */
void stk_sample_quota_add(struct stk_tier *tier, struct stk_sample_quota *quota, int64_t blocks)
{
    atomic_fetch_add(&quota->blocks, blocks);
    atomic_fetch_sub(&quota->wanted_blocks, blocks);
    stk_tier_release(tier->shared, 0, 1);
}

void stk_sample_quota_forget(struct stk_tier *tier)
{
    stk_tier_release(tier->shared, stk_sample_quota_unused_blocks(tier), 0);
    for (int i = 0; i < STK_SAMPLE_QUOTAS; i++) {
        struct stk_sample_quota *quota = &tier->shared->quotas[i];
        atomic_store(&quota->blocks, 0);
        atomic_store(&quota->inodes, 0);
        atomic_store(&quota->wanted_blocks, 0);
        atomic_store(&quota->namespace, 0);
    }
}

int64_t stk_sample_quota_step_blocks(const struct stk_tier *tier)
{
    int64_t step = tier->shared->budget.blocks / STEP_SHARE;
    step = step > LEAST_STEP_BLOCKS ? step : LEAST_STEP_BLOCKS;
    return step < MOST_STEP_BLOCKS ? step : MOST_STEP_BLOCKS;
}
