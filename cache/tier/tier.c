#include "cache/tier/tier.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/shm_floor.h"
#include "cache/tier/ledger.h"

#define UNLIMITED            (INT64_MAX / 4)
#define LEAST_RESERVE_INODES 1024
#define LEAST_BUDGET_BYTES   (1 << 20)
#define LEAST_BUDGET_INODES  16
#define SETUP_PATIENCE_NS    (2 * STK_NS_PER_S)

int stk_tier_parse(const char **list, char dir[STK_HOME_BYTES], int64_t *budget_bytes)
{
    const char *value = *list;
    size_t length = strcspn(value, ",");
    const char *colon = memchr(value, ':', length);
    size_t dir_length = colon != NULL ? (size_t)(colon - value) : length;
    char size[32];
    *list += length + (value[length] == ',');
    *budget_bytes = STK_TIER_DEFAULT_BUDGET;
    dir[0] = '\0';
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

/* ---- budgets ---- */

struct amount {
    int64_t blocks, inodes;
};

/* Returns what the tier uses already; nothing if that is not counted yet, or damaged. */
static struct amount used_of(const struct stk_tier_shared *shared, const struct statfs *fs)
{
    int64_t most_blocks = (int64_t)fs->f_blocks * (fs->f_bsize / STK_BLOCK_BYTES);
    int64_t blocks = atomic_load(&shared->budget.used_blocks);
    int64_t inodes = atomic_load(&shared->budget.used_inodes);
    return (struct amount){blocks < 0 || blocks > most_blocks ? 0 : blocks,
                           inodes < 0 || inodes > (int64_t)fs->f_files ? 0 : inodes};
}

/* Returns what is free now in the file system and, for a tmpfs, in the memory. */
static int64_t free_bytes_of(const struct statfs *fs)
{
    int64_t bytes = (int64_t)fs->f_bavail * fs->f_bsize;
    int64_t memory = stk_local_is_memory(fs) ? stk_memory_available_bytes() : INT64_MAX;
    return bytes < memory ? bytes : memory;
}

/* Returns the budget: free space and what the tier uses, less the reserve. */
static struct amount compute_budget(const struct stk_tier_shared *shared, const struct statfs *fs)
{
    struct amount used = used_of(shared, fs);
    int64_t whole = free_bytes_of(fs) + used.blocks * STK_BLOCK_BYTES;
    int64_t allowed = stk_budget_less_reserve(whole, STK_BUDGET_LEAST_RESERVE_BYTES);
    int64_t total = (int64_t)fs->f_blocks * fs->f_bsize;
    if (shared->jobs != 0 && allowed > total - stk_shm_floor(total)) {
        allowed = total - stk_shm_floor(total);
    }
    int64_t inodes = fs->f_files == 0 ? UNLIMITED
                                      : stk_budget_less_reserve((int64_t)fs->f_ffree + used.inodes,
                                                                LEAST_RESERVE_INODES);
    return (struct amount){allowed > 0 ? allowed / STK_BLOCK_BYTES : 0, inodes};
}

/* Returns the most bytes that a tier in this file system can have, however much is free now. */
static int64_t capacity_of(const struct statfs *fs, bool jobs)
{
    int64_t total = (int64_t)fs->f_blocks * fs->f_bsize;
    int64_t capacity = jobs ? total - stk_shm_floor(total) : total;
    int64_t memory = stk_local_is_memory(fs) ? stk_memory_total_bytes() : INT64_MAX;
    return capacity < memory ? capacity : memory;
}

static int set_budget(struct stk_tier_shared *shared, const struct statfs *fs, int64_t wanted_bytes)
{
    struct amount budget = compute_budget(shared, fs);
    int64_t used_blocks = atomic_load(&shared->budget.used_blocks);
    if (wanted_bytes >= 0 && wanted_bytes <= capacity_of(fs, shared->jobs != 0)) {
        budget.blocks = wanted_bytes / STK_BLOCK_BYTES;
    }
    if (budget.blocks * STK_BLOCK_BYTES < LEAST_BUDGET_BYTES ||
        budget.inodes < LEAST_BUDGET_INODES) {
        return -ENOSPC; /* the tier keeps its old budget */
    }
    atomic_store(&shared->budget.headroom_blocks,
                 shared->pays ? stk_budget_headroom_of(budget.blocks, 0) : 0);
    stk_budget_set(&shared->budget, budget.blocks, budget.inodes);
    return fs->f_bavail > 0 || used_blocks > 0 ? 0 : -ENOSPC;
}

/* Returns the budgets of all other tiers in blocks. Passes over a damaged one. */
static int64_t blocks_of_others(const struct stk_catalogue *catalogue,
                                const struct stk_tier_shared *but)
{
    int64_t sum = 0;
    for (int i = 0; i < STK_TIERS; i++) {
        const struct stk_tier_shared *tier = &catalogue->header->tiers[i];
        int64_t blocks = atomic_load(&tier->budget.blocks);
        bool counts = tier != but && atomic_load(&tier->setup) == STK_TIER_READY;
        sum += counts && blocks > 0 && blocks < UNLIMITED / STK_TIERS ? blocks : 0;
    }
    return sum;
}

void stk_tier_share_headroom(struct stk_catalogue *catalogue)
{
    for (int i = 0; i < STK_TIERS; i++) {
        struct stk_tier_shared *tier = &catalogue->header->tiers[i];
        if (atomic_load(&tier->setup) == STK_TIER_READY && tier->pays) {
            int64_t own = atomic_load(&tier->budget.blocks);
            int64_t others = blocks_of_others(catalogue, tier);
            atomic_store(&tier->budget.headroom_blocks, stk_budget_headroom_of(own, others));
        }
    }
}

/* ---- the tiers' slots in the catalogue ---- */

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

/* Returns true if the job's own shared memory lies in this file system. */
static bool is_the_jobs(dev_t device)
{
    struct stat shared;
    return stk_sys_fstatat(AT_FDCWD, "/dev/shm", &shared, 0) == 0 && shared.st_dev == device;
}

/* A catalogue begins with all that is there as the others'. */
static void learn(struct stk_budget *budget, const struct stk_ledger *count)
{
    atomic_store(&budget->used_blocks, count->blocks);
    atomic_store(&budget->others_blocks, count->blocks);
    atomic_store(&budget->limit_blocks, count->blocks);
    atomic_store(&budget->used_inodes, count->inodes);
    atomic_store(&budget->others_inodes, count->inodes);
    atomic_store(&budget->limit_inodes, count->inodes);
}

static int set_up(const struct stk_catalogue *catalogue, struct stk_tier_shared *shared,
                  const char *home, const struct statfs *fs, int64_t wanted_bytes)
{
    struct stat stat;
    struct stk_ledger count;
    int error = stk_sys_fstatat(AT_FDCWD, home, &stat, AT_SYMLINK_NOFOLLOW);
    if (error != 0) {
        atomic_store(&shared->setup, 0);
        return error;
    }
    shared->dev = stat.st_dev;
    shared->block_bytes = (uint32_t)fs->f_bsize;
    shared->memory = stk_local_is_memory(fs);
    shared->pays = stat.st_dev == catalogue->file.dev;
    shared->jobs = is_the_jobs(stat.st_dev);
    stk_text_copy(shared->home, sizeof shared->home, home);
    int fd = stk_ledger_open(home, &count);
    if (fd < 0) {
        atomic_store(&shared->setup, 0);
        return fd;
    }
    stk_ledger_close(fd, NULL);
    learn(&shared->budget, &count);
    error = set_budget(shared, fs, wanted_bytes);
    atomic_store(&shared->setup, STK_TIER_READY);
    return error;
}

static void fill_view(struct stk_tier *out, struct stk_tier_shared *shared, unsigned index)
{
    out->shared = shared;
    out->index = index;
    out->dev = shared->dev;
    out->guarded = false;
    memcpy(out->home, shared->home, sizeof out->home);
    out->home[sizeof out->home - 1] = '\0';
}

/* DIR without symbolic links above its last component, as the kernel spells it. */
static int canonical_dir(const char *dir, char out[STK_HOME_BYTES])
{
    char link[32];
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    stk_proc_fd_path(link, fd);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, out, STK_HOME_BYTES - 32);
    if (length < 0 || length == STK_HOME_BYTES - 32) {
        return length < 0 ? (int)length : -ENAMETOOLONG;
    }
    out[length] = '\0';
    return 0;
}

/* Where the home in `dir` lies, or would. */
static int find_home(const char *dir, char home[STK_HOME_BYTES], struct statfs *fs)
{
    char canonical[STK_HOME_BYTES];
    int error = canonical_dir(dir, canonical);
    error = error != 0 ? error : stk_home_check_parent(canonical, NULL);
    error = error != 0 ? error : stk_sys_statfs(canonical, fs);
    if (error == 0 && !stk_local_is(fs)) {
        error = -EMEDIUMTYPE;
    }
    if (error == 0 && !stk_home_path(home, canonical)) {
        error = -ENAMETOOLONG;
    }
    return error;
}

static int prepare_home(const char *dir, char home[STK_HOME_BYTES], struct statfs *fs)
{
    int error = find_home(dir, home, fs);
    error = error != 0 ? error : stk_home_ensure(home);
    error = error != 0 ? error : stk_home_ensure_directory(home, "tree");
    return error != 0 ? error : stk_home_ensure_directory(home, "fill");
}

/* Returns 0 if attaching could make this home in `dir`, or write to a home that exists. */
static int check_writable(const char *dir, const char *home)
{
    int error = stk_home_check(home);
    if (error == -ENOENT) {
        return stk_sys_faccessat(AT_FDCWD, dir, W_OK | X_OK);
    }
    return error != 0 ? error : stk_sys_faccessat(AT_FDCWD, home, W_OK | X_OK);
}

/* Counts the files in the home, if there is one, as used. */
static void foresee_used(struct stk_tier_shared *out, const struct statfs *fs, int64_t limit_ns)
{
    struct stk_ledger count = {0, 0, 0, 0};
    if (stk_home_check(out->home) == 0) {
        int error = stk_ledger_walk(out->home, limit_ns, NULL, &count.blocks, &count.inodes);
        if (error == -ETIME) {
            count.blocks = (int64_t)(fs->f_blocks - fs->f_bfree) * (fs->f_bsize / STK_BLOCK_BYTES);
            count.inodes = (int64_t)(fs->f_files - fs->f_ffree);
        }
        learn(&out->budget, &count);
    }
}

int stk_tier_foresee(const char *dir, int64_t budget_bytes, int64_t limit_ns,
                     struct stk_tier_shared *out)
{
    struct stat stat;
    struct statfs fs;
    *out = (struct stk_tier_shared){.path_hash = 0};
    int error = find_home(dir, out->home, &fs);
    error = error != 0 ? error : check_writable(dir, out->home);
    error = error != 0 ? error : stk_sys_fstatat(AT_FDCWD, dir, &stat, 0);
    if (error != 0) {
        return error;
    }
    out->block_bytes = (uint32_t)fs.f_bsize;
    out->memory = stk_local_is_memory(&fs);
    out->jobs = is_the_jobs(stat.st_dev);
    out->pays = out->jobs; /* the catalogue will lie there */
    foresee_used(out, &fs, limit_ns);
    return set_budget(out, &fs, budget_bytes);
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
        return -EUSERS;
    }
    struct stk_tier_shared *shared = &catalogue->header->tiers[index];
    if (take_setup(shared)) {
        error = set_up(catalogue, shared, home, &fs, budget_bytes);
        stk_tier_share_headroom(catalogue);
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

int stk_tier_set_budget(struct stk_tier *tier, int64_t budget_bytes)
{
    struct statfs fs;
    int error = stk_sys_statfs(tier->home, &fs);
    return error != 0 ? error : set_budget(tier->shared, &fs, budget_bytes);
}
