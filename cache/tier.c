/* Tiers. See cache/tier.h. */
#include "cache/tier.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/walk.h"

#define UNLIMITED            (INT64_MAX / 4)
#define LEAST_RESERVE_BYTES  (8LL << 30)
#define LEAST_RESERVE_INODES 1024
#define LEAST_BUDGET_BYTES   (1 << 20)
#define LEAST_BUDGET_INODES  16
#define SETUP_COUNT_LIMIT_NS STK_NS_PER_S
#define SETUP_PATIENCE_NS    (2 * STK_NS_PER_S)

int stk_tier_parse(const char *value, char dir[STK_HOME_BYTES], int64_t *budget_bytes)
{
    size_t length = strcspn(value, ",");
    const char *colon = memchr(value, ':', length);
    size_t dir_length = colon != NULL ? (size_t)(colon - value) : length;
    char size[32];
    *budget_bytes = STK_TIER_DEFAULT_BUDGET;
    if (dir_length >= STK_HOME_BYTES) {
        return -ENAMETOOLONG;
    }
    memcpy(dir, value, dir_length);
    dir[dir_length] = '\0';
    if (dir_length == 0) {
        return -EINVAL;
    }
    if (colon == NULL) {
        return 0;
    }
    struct stk_text text = stk_text_in(size, sizeof size);
    stk_text_add_bytes(&text, colon + 1, length - dir_length - 1);
    return text.cut || stk_text_parse_size(size, budget_bytes) != 0 || *budget_bytes == 0 ? -EINVAL
                                                                                          : 0;
}

/* ---- counting what is used ---- */

struct count {
    int64_t blocks, inodes, deadline_ns;
};

static int count_one(void *context, int dirfd, const char *name, unsigned depth,
                     const struct stat *stat)
{
    struct count *count = context;
    (void)dirfd;
    (void)name;
    (void)depth;
    count->blocks += stat->st_blocks;
    count->inodes++;
    bool look = count->deadline_ns != 0 && count->inodes % 256 == 0;
    return look && stk_clock_boottime_ns() > count->deadline_ns ? -ETIME : 0;
}

int stk_tier_count(const char *home, int64_t limit_ns, int64_t *blocks, int64_t *inodes)
{
    struct count count = {0, 1, limit_ns != 0 ? stk_clock_boottime_ns() + limit_ns : 0};
    int error = stk_walk(home, count_one, &count);
    *blocks = count.blocks;
    *inodes = count.inodes;
    return error;
}

/* ---- budgets ---- */

/* What may be used in all, given what we use already: of the file system and, for a tmpfs, memory.
 */
static void compute_budget(const struct statfs *fs, int64_t used_blocks, int64_t used_inodes,
                           int64_t *blocks, int64_t *inodes)
{
    int64_t free_bytes = (int64_t)fs->f_bavail * fs->f_bsize;
    if (fs->f_type == TMPFS_MAGIC) {
        int64_t memory = stk_memory_available_bytes();
        free_bytes = free_bytes < memory ? free_bytes : memory;
    }
    int64_t most_blocks = (int64_t)fs->f_blocks * (fs->f_bsize / STK_BLOCK_BYTES);
    if (used_blocks < 0 || used_blocks > most_blocks) {
        used_blocks = 0; /* not counted yet, or damaged */
    }
    if (used_inodes < 0 || used_inodes > (int64_t)fs->f_files) {
        used_inodes = 0;
    }
    int64_t whole = free_bytes + used_blocks * STK_BLOCK_BYTES;
    *blocks = stk_budget_less_reserve(whole, LEAST_RESERVE_BYTES) / STK_BLOCK_BYTES;
    *inodes = fs->f_files == 0 ? UNLIMITED
                               : stk_budget_less_reserve((int64_t)fs->f_ffree + used_inodes,
                                                         LEAST_RESERVE_INODES);
}

static int set_budget(struct stk_tier_shared *shared, const struct statfs *fs, int64_t wanted_bytes)
{
    int64_t blocks, inodes;
    int64_t used_blocks = atomic_load(&shared->budget.used_blocks);
    int64_t used_inodes = atomic_load(&shared->budget.used_inodes);
    compute_budget(fs, used_blocks, used_inodes, &blocks, &inodes);
    if (wanted_bytes >= 0) {
        blocks = wanted_bytes / STK_BLOCK_BYTES;
        if (blocks > (int64_t)fs->f_blocks * (fs->f_bsize / STK_BLOCK_BYTES)) {
            return -ERANGE;
        }
    }
    atomic_store(&shared->budget.aside_blocks, shared->pays ? stk_budget_aside_of(blocks) : 0);
    stk_budget_set(&shared->budget, blocks, inodes);
    bool room = blocks * STK_BLOCK_BYTES >= LEAST_BUDGET_BYTES && inodes >= LEAST_BUDGET_INODES;
    bool space = fs->f_bavail > 0 || used_blocks > 0;
    return room && space ? 0 : -ENOSPC;
}

/* ---- the list in the catalogue ---- */

uint64_t stk_tier_hash(const char *home)
{
    return stk_hash_64(home, strlen(home), 0) | 1;
}

/* The slot of this home, taken if need be; -1 when all are taken by others. */
static int find_slot(struct stk_catalogue *catalogue, const char *home)
{
    uint64_t hash = stk_tier_hash(home);
    for (int i = 0; i < STK_TIERS; i++) {
        _Atomic uint64_t *slot = &catalogue->header->tiers[i].path_hash;
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(slot, &seen, hash) || seen == hash) {
            return i;
        }
    }
    return -1;
}

/* True if this process shall set the tier up; false when it is ready, or its setup takes too long.
 */
static bool take_setup(struct stk_tier_shared *shared)
{
    int64_t give_up_ns = stk_clock_boottime_ns() + SETUP_PATIENCE_NS;
    uint64_t seen = atomic_load(&shared->setup);
    while (seen != STK_TIER_READY && stk_clock_boottime_ns() < give_up_ns) {
        bool nobody = seen == 0 || !stk_sys_process_exists((pid_t)seen);
        if (nobody &&
            atomic_compare_exchange_strong(&shared->setup, &seen, (uint64_t)stk_sys_getpid())) {
            return true;
        }
        stk_sys_futex_wait(&shared->setup, (uint32_t)seen, STK_NS_PER_S / 1000);
        seen = atomic_load(&shared->setup);
    }
    return false;
}

static int set_up(const struct stk_catalogue *catalogue, struct stk_tier_shared *shared,
                  const char *home, const struct statfs *fs, int64_t wanted_bytes)
{
    struct stat stat;
    int64_t blocks, inodes;
    int error = stk_sys_fstatat(AT_FDCWD, home, &stat, AT_SYMLINK_NOFOLLOW);
    if (error != 0) {
        atomic_store(&shared->setup, 0);
        return error;
    }
    shared->dev = stat.st_dev;
    shared->block_bytes = (uint32_t)fs->f_bsize;
    shared->memory = fs->f_type == TMPFS_MAGIC;
    shared->pays = stat.st_dev == catalogue->dev;
    stk_text_copy(shared->home, sizeof shared->home, home);
    bool counted = stk_tier_count(home, SETUP_COUNT_LIMIT_NS, &blocks, &inodes) == 0;
    atomic_store(&shared->budget.used_blocks, blocks);
    atomic_store(&shared->budget.used_inodes, inodes);
    error = set_budget(shared, fs, wanted_bytes);
    if (!counted) {
        /* Too much to count in a guest's time: full, until `stoker run` has counted it. */
        atomic_store(&shared->budget.used_blocks, UNLIMITED);
    }
    atomic_store(&shared->setup, STK_TIER_READY);
    return error;
}

static void fill_view(struct stk_tier *out, struct stk_tier_shared *shared, unsigned index)
{
    out->shared = shared;
    out->index = index;
    out->dev = shared->dev;
    memcpy(out->home, shared->home, sizeof out->home);
    out->home[sizeof out->home - 1] = '\0';
}

/* DIR without symbolic links above its last component, as the kernel spells it. */
static int canonical_dir(const char *dir, char out[STK_HOME_BYTES])
{
    char link[32];
    struct stk_text text = stk_text_in(link, sizeof link);
    int fd = stk_sys_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    stk_text_add(&text, "/proc/self/fd/");
    stk_text_add_number(&text, (uint64_t)fd);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, out, STK_HOME_BYTES - 32);
    stk_sys_close(fd);
    if (length < 0 || length == STK_HOME_BYTES - 32) {
        return length < 0 ? (int)length : -ENAMETOOLONG;
    }
    out[length] = '\0';
    return 0;
}

static int prepare_home(const char *dir, char home[STK_HOME_BYTES], struct statfs *fs)
{
    char canonical[STK_HOME_BYTES];
    int error = canonical_dir(dir, canonical);
    if (error == 0) {
        error = stk_home_check_parent(canonical);
    }
    if (error == 0) {
        error = stk_sys_statfs(canonical, fs);
    }
    if (error == 0 && !stk_local_is(fs)) {
        error = -EMEDIUMTYPE;
    }
    if (error == 0 && !stk_home_path(home, canonical)) {
        error = -ENAMETOOLONG;
    }
    if (error == 0) {
        error = stk_home_ensure(home);
    }
    if (error == 0) {
        error = stk_home_ensure_room(home, "tree");
    }
    return error != 0 ? error : stk_home_ensure_room(home, "fill");
}

int stk_tier_attach(struct stk_catalogue *catalogue, const char *dir, int64_t budget_bytes,
                    struct stk_tier *out)
{
    char home[STK_HOME_BYTES];
    struct statfs fs;
    int error = prepare_home(dir, home, &fs);
    if (error != 0) {
        return error;
    }
    int index = find_slot(catalogue, home);
    if (index < 0) {
        return -EMFILE;
    }
    struct stk_tier_shared *shared = &catalogue->header->tiers[index];
    if (take_setup(shared)) {
        error = set_up(catalogue, shared, home, &fs, budget_bytes);
    }
    if (atomic_load(&shared->setup) != STK_TIER_READY) {
        return error != 0 ? error : -EAGAIN;
    }
    fill_view(out, shared, (unsigned)index);
    return error;
}

bool stk_tier_by_index(struct stk_catalogue *catalogue, unsigned index, struct stk_tier *out)
{
    struct stk_tier_shared *shared = &catalogue->header->tiers[index % STK_TIERS];
    if (atomic_load(&shared->setup) != STK_TIER_READY) {
        return false;
    }
    fill_view(out, shared, index % STK_TIERS);
    return stk_tier_hash(out->home) == atomic_load(&shared->path_hash);
}

int stk_tier_recount(struct stk_tier *tier)
{
    int64_t blocks, inodes;
    int error = stk_tier_count(tier->home, 0, &blocks, &inodes);
    if (error == 0) {
        atomic_store(&tier->shared->budget.used_blocks, blocks);
        atomic_store(&tier->shared->budget.used_inodes, inodes);
        atomic_fetch_add(&tier->shared->budget.recounts, 1);
    }
    return error;
}

int stk_tier_set_budget(struct stk_tier *tier, int64_t budget_bytes)
{
    struct statfs fs;
    int error = stk_sys_statfs(tier->home, &fs);
    return error != 0 ? error : set_budget(tier->shared, &fs, budget_bytes);
}
