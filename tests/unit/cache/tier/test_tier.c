/* cache/tier/tier.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalogue/shm_floor.h"
#include "cache/tier/ledger.h"
#include "cache/tier/tier.h"
#include "tests/unit/cache/recount.h"

#define MIB          (INT64_C(1) << 20)
#define EMPTY_INODES 4 /* a home: itself, tree, fill, account */

static const struct {
    const char *value;
    int error;
    const char *dir;
    int64_t bytes;
} values[] = {
    {"/dev/shm", 0, "/dev/shm", STK_TIER_DEFAULT_BUDGET},
    {"/dev/shm:60G", 0, "/dev/shm", 60LL << 30},
    {"/dev/shm:1.5G,/nvme:2T", 0, "/dev/shm", 3LL << 29},
    {"/dev/shm,/nvme:2T", 0, "/dev/shm", STK_TIER_DEFAULT_BUDGET},
    {"", -EINVAL, NULL, 0},
    {":5G", -EINVAL, NULL, 0},
    {",/nvme", -EINVAL, NULL, 0},
    {"/dev/shm:", -EINVAL, NULL, 0},
    {"/dev/shm:0", -EINVAL, NULL, 0},
    {"/dev/shm:lots", -EINVAL, NULL, 0},
    {"/dev/shm:-5G", -EINVAL, NULL, 0},
    {"/dev/shm:5G:6G", -EINVAL, NULL, 0},
    {"/dev/shm:00000000000000000000000000000000005G", -EINVAL, NULL, 0},
};

START_TEST(parses)
{
    char dir[STK_HOME_BYTES];
    int64_t bytes;
    const char *list = values[_i].value;
    int error = stk_tier_parse(&list, dir, &bytes);
    ck_assert_msg(error == values[_i].error, "\"%s\": %d", values[_i].value, error);
    if (error == 0) {
        ck_assert_str_eq(dir, values[_i].dir);
        ck_assert_int_eq(bytes, values[_i].bytes);
    }
}
END_TEST

START_TEST(parses_one_after_the_other)
{
    char dir[STK_HOME_BYTES];
    int64_t bytes;
    const char *list = "/dev/shm:1K,:5G,/nvme,";
    ck_assert_int_eq(stk_tier_parse(&list, dir, &bytes), 0);
    ck_assert_str_eq(dir, "/dev/shm");
    ck_assert_int_eq(bytes, 1024);
    ck_assert_int_eq(stk_tier_parse(&list, dir, &bytes), -EINVAL);
    ck_assert_int_eq(stk_tier_parse(&list, dir, &bytes), 0);
    ck_assert_str_eq(dir, "/nvme");
    ck_assert_int_eq(bytes, STK_TIER_DEFAULT_BUDGET);
    ck_assert_str_eq(list, "");
}
END_TEST

START_TEST(too_long_a_directory)
{
    char value[2 * STK_HOME_BYTES], dir[STK_HOME_BYTES];
    int64_t bytes;
    memset(value, 'x', sizeof value);
    value[sizeof value - 1] = '\0';
    const char *list = value;
    ck_assert_int_eq(stk_tier_parse(&list, dir, &bytes), -ENAMETOOLONG);
    ck_assert_str_eq(list, "");
}
END_TEST

/* ---- attaching ---- */

static struct stk_catalogue catalogue;

static int attach(const char *dir, int64_t bytes, struct stk_tier *tier)
{
    if (catalogue.header == NULL) {
        ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_directory("catalogue"), true), 0);
    }
    memset(tier, 0, sizeof *tier);
    return stk_tier_attach(&catalogue, dir, bytes, tier);
}

START_TEST(attaches)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier, again;
    char home[STK_HOME_BYTES];
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    ck_assert(stk_home_path(home, "/dev/shm"));
    ck_assert_str_eq(tier.home, home);
    ck_assert_uint_eq(tier.index, 0);
    ck_assert_uint_eq(tier.dev, unit_stat("/dev/shm").st_dev);
    ck_assert_uint_eq(tier.shared->memory, 1);
    ck_assert_uint_eq(tier.shared->block_bytes, 4096);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.blocks), 5 * MIB / 512);
    ck_assert_uint_eq(unit_stat(unit_join(home, "tree")).st_mode, S_IFDIR | 0700);
    ck_assert_uint_eq(unit_stat(unit_join(home, "fill")).st_mode, S_IFDIR | 0700);
    /* Another process's budget stays until it is set anew. */
    ck_assert_int_eq(attach("/dev/shm", 9 * MIB, &again), 0);
    ck_assert_ptr_eq(again.shared, tier.shared);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.blocks), 5 * MIB / 512);
    uint32_t generation = atomic_load(&tier.shared->budget.generation);
    ck_assert_int_eq(stk_tier_set_budget(&again, 9 * MIB), 0);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.blocks), 9 * MIB / 512);
    ck_assert_uint_ne(atomic_load(&tier.shared->budget.generation), generation);
}
END_TEST

/* The catalogue lies in the file system of the first tier, and knows the files of the second. */
START_TEST(a_disk_behind_has_its_files_known)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier first, second;
    ck_assert_int_eq(attach(unit_directory("first"), 8 * MIB, &first), 0);
    ck_assert_uint_eq(first.shared->pays, 1);
    _Atomic int64_t *headroom = &first.shared->budget.headroom_blocks;
    ck_assert_int_eq(atomic_load(headroom), 8 * MIB / 512 / 64);
    ck_assert_int_eq(attach("/dev/shm", 16 * MIB, &second), 0);
    ck_assert_uint_eq(second.shared->pays, 0);
    ck_assert_int_eq(atomic_load(headroom), 24 * MIB / 512 / 64);
    ck_assert_int_eq(atomic_load(&second.shared->budget.headroom_blocks), 0);
    ck_assert_int_eq(stk_tier_set_budget(&first, 4 * MIB), 0);
    stk_tier_share_headroom(&catalogue);
    ck_assert_int_eq(atomic_load(headroom), 20 * MIB / 512 / 64);
}
END_TEST

START_TEST(spelled_differently)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier, again;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    ck_assert_int_eq(symlink("/dev/shm", unit_path("link")), 0);
    ck_assert_int_eq(attach(unit_path("link"), 5 * MIB, &again), 0);
    ck_assert_str_eq(again.home, tier.home);
    ck_assert_int_eq(attach("/dev/../dev//shm/.", 5 * MIB, &again), 0);
    ck_assert_ptr_eq(again.shared, tier.shared);
}
END_TEST

START_TEST(errors)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    char home[STK_HOME_BYTES];
    unit_write_text(unit_path("file"), "");
    ck_assert_int_eq(attach(unit_path("file"), MIB, &tier), -ENOTDIR);
    ck_assert_ptr_null(tier.shared);
    ck_assert_int_eq(attach(unit_path("none"), MIB, &tier), -ENOENT);
    ck_assert_int_eq(attach("/proc", MIB, &tier), unit_is_root() ? -EMEDIUMTYPE : -EPERM);
    const char *dir = unit_directory("dir");
    ck_assert_int_eq(chmod(dir, 0777), 0);
    ck_assert_int_eq(attach(dir, MIB, &tier), -ENOTUNIQ);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    ck_assert(stk_home_path(home, dir));
    ck_assert_int_eq(symlink("/dev/shm", home), 0);
    ck_assert_int_eq(attach(dir, MIB, &tier), -ELOOP);
    ck_assert_int_eq(unlink(home), 0);
    unit_write_text(home, "");
    ck_assert_int_eq(attach(dir, MIB, &tier), -ENOTDIR);
    ck_assert_int_eq(unlink(home), 0);
    ck_assert_int_eq(attach("/dev/shm", 4096, &tier), -ENOSPC);
    ck_assert_int_eq(stk_tier_set_budget(&tier, 4096), -ENOSPC);
    ck_assert_int_eq(stk_tier_set_budget(&tier, 2 * MIB), 0);
}
END_TEST

START_TEST(anothers)
{
    UNIT_NEEDS_ROOT();
    struct stk_tier tier;
    char home[STK_HOME_BYTES];
    const char *dir = unit_directory("dir");
    ck_assert_int_eq(chown(dir, 1234, 1234), 0);
    ck_assert_int_eq(attach(dir, MIB, &tier), -EPERM);
    ck_assert_int_eq(chown(dir, 0, 0), 0);
    for (int i = 0; i < STK_HOME_NAMES; i++) {
        ck_assert(stk_home_path(home, dir));
        ck_assert_int_eq(mkdir(home, 0700), 0);
        ck_assert_int_eq(chown(home, 1234, 1234), 0);
    }
    ck_assert_int_eq(attach(dir, MIB, &tier), -EPERM);
    ck_assert_int_eq(rmdir(home), 0);
    ck_assert_int_eq(attach(dir, MIB, &tier), 0);
    ck_assert_str_eq(tier.home, home);
}
END_TEST

START_TEST(no_room)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    const char *small = unit_directory("small");
    unit_mount_tmpfs(small, "size=512k,mode=0755");
    ck_assert_int_eq(attach(small, STK_TIER_DEFAULT_BUDGET, &tier), -ENOSPC);
    const char *few = unit_directory("few");
    unit_mount_tmpfs(few, "nr_inodes=12,mode=0755");
    ck_assert_int_eq(attach(few, STK_TIER_DEFAULT_BUDGET, &tier), -ENOSPC);
}
END_TEST

START_TEST(default_budget_leaves_a_reserve)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    ck_assert_int_eq(attach("/dev/shm", STK_TIER_DEFAULT_BUDGET, &tier), 0);
    struct statvfs fs;
    ck_assert_int_eq(statvfs("/dev/shm", &fs), 0);
    int64_t free_bytes = (int64_t)(fs.f_bavail * fs.f_bsize);
    int64_t allowed = atomic_load(&tier.shared->budget.blocks) * 512;
    /* 512 MiB at most: half of what is free, and of memory, too. */
    ck_assert_int_gt(allowed, MIB);
    ck_assert_int_le(allowed, free_bytes / 2 + MIB);
    ck_assert_int_le(atomic_load(&tier.shared->budget.inodes), (int64_t)fs.f_ffree);
    ck_assert_int_gt(atomic_load(&tier.shared->budget.inodes), 16);
}
END_TEST

START_TEST(counts_what_is_there)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    static char data[10000];
    int64_t blocks, inodes;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    int64_t empty_inodes = atomic_load(&tier.shared->budget.used_inodes);
    ck_assert_int_eq(empty_inodes, EMPTY_INODES);
    unit_write(unit_join(tier.home, "tree/a"), data, sizeof data);
    ck_assert_int_eq(mkdir(unit_join(tier.home, "tree/d"), 0700), 0);
    unit_write(unit_join(tier.home, "tree/d/b"), data, 1);
    ck_assert_int_eq(stk_ledger_walk(tier.home, 0, NULL, &blocks, &inodes), 0);
    ck_assert_int_eq(inodes, empty_inodes + 3);
    ck_assert_int_eq(blocks, 8 + 3 * 8 + 8);
    ck_assert_int_eq(unit_recount(&tier), 0);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.used_blocks), blocks);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.used_inodes), inodes);
    /* A new catalogue knows, and does not count. */
    unit_write(unit_join(tier.home, "tree/unseen"), data, 1);
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(unlink(unit_path("catalogue/catalogue")), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path("catalogue"), true), 0);
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.used_blocks), blocks);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.used_inodes), inodes);
    ck_assert_int_eq(stk_ledger_walk(unit_path("none"), 0, NULL, &blocks, &inodes), -ENOENT);
}
END_TEST

START_TEST(counting_has_a_limit)
{
    char name[64];
    int64_t blocks, inodes;
    unit_directory("home");
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "home/%d", i);
        unit_write_text(unit_path(name), "");
    }
    ck_assert_int_eq(stk_ledger_walk(unit_path("home"), 1, NULL, &blocks, &inodes), -ETIME);
    ck_assert_int_eq(stk_ledger_walk(unit_path("home"), 60 * STK_NS_PER_S, NULL, &blocks, &inodes),
                     0);
}
END_TEST

/* A process was killed while it set the tier up: the next one does it. */
START_TEST(setup_is_overtaken)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    atomic_store(&tier.shared->setup, (uint64_t)unit_dead_pid());
    stk_budget_set(&tier.shared->budget, 0, 0);
    struct stk_tier again;
    ck_assert(!stk_tier_by_index(&catalogue, 0, &again));
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &again), 0);
    ck_assert_ptr_eq(again.shared, tier.shared);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.blocks), 5 * MIB / 512);
}
END_TEST

/* Another process takes its time to set up. Until it is ready there is no tier, since only the
 * device's number distinguishes descriptors of entries. */
START_TEST(setup_is_not_waited_for_without_end)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier, other = {.shared = NULL};
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    atomic_store(&tier.shared->setup, (uint64_t)getppid());
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &other), -EAGAIN);
    ck_assert_ptr_null(other.shared);
}
END_TEST

START_TEST(eight_tiers)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    char name[16];
    for (unsigned i = 0; i < STK_TIERS; i++) {
        snprintf(name, sizeof name, "dir%u", i);
        ck_assert_int_eq(attach(unit_directory(name), 2 * MIB, &tier), 0);
        ck_assert_uint_eq(tier.index, i);
    }
    ck_assert_int_eq(attach("/dev/shm", 2 * MIB, &tier), -EUSERS);
    ck_assert(stk_tier_by_index(&catalogue, 7, &tier));
    ck_assert_ptr_nonnull(strstr(tier.home, "/dir7/stoker-"));
}
END_TEST

/* One byte of zero makes a directory above it out of a home. */
START_TEST(a_damaged_home_is_no_tier)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier, again;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    ck_assert(stk_tier_by_index(&catalogue, 0, &again));
    *strrchr(tier.shared->home, '/') = '\0';
    ck_assert(!stk_tier_by_index(&catalogue, 0, &again));
    memset(tier.shared->home, 'x', sizeof tier.shared->home);
    ck_assert(!stk_tier_by_index(&catalogue, 0, &again));
}
END_TEST

/* Counting finds what killed processes have left. */
START_TEST(counting_corrects_both_ways)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    static char data[100000];
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    struct stk_budget *budget = &tier.shared->budget;
    int64_t used = atomic_load(&budget->used_blocks);
    tier.shared->pays = 1; /* as where the catalogue is the only one */
    atomic_store(&budget->headroom_blocks, 0);
    ck_assert_int_eq(stk_tier_take(tier.shared, 5000, 3), 0);
    uint32_t generation = atomic_load(&budget->generation);
    ck_assert_int_eq(unit_recount(&tier), 0);
    ck_assert_int_eq(atomic_load(&budget->used_blocks), used);
    ck_assert_int_eq(atomic_load(&budget->used_inodes), EMPTY_INODES);
    ck_assert_uint_ne(atomic_load(&budget->generation), generation);
    unit_write(unit_join(tier.home, "tree/unseen"), data, sizeof data);
    ck_assert_int_eq(unit_recount(&tier), 0);
    ck_assert_int_eq(atomic_load(&budget->used_blocks), used + 200);
    ck_assert_int_eq(stk_tier_take(tier.shared, 5 * 2048 - used - 199, 1), -EDQUOT);
    ck_assert_int_eq(stk_tier_take(tier.shared, 5 * 2048 - used - 200, 1), 0);
}
END_TEST

/* Whatever is taken while it counts is within the bounds. */
START_TEST(counting_beside_fillers_forgets_nothing)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    struct stk_recount recount;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    struct stk_budget *budget = &tier.shared->budget;
    tier.shared->pays = 1;
    int64_t used = atomic_load(&budget->used_blocks);
    ck_assert_int_eq(stk_tier_recount_begin(tier.shared, &recount), 0);
    ck_assert_int_eq(stk_tier_take(tier.shared, 3000, 1), 0); /* not to be seen yet */
    ck_assert_int_eq(stk_tier_recount_end(tier.shared, &recount, NULL), 0);
    ck_assert_int_eq(atomic_load(&budget->used_blocks), used + 3000);
    const atomic_bool stop = true;
    ck_assert_int_eq(stk_tier_recount_begin(tier.shared, &recount), 0);
    ck_assert_int_eq(stk_tier_recount_end(tier.shared, &recount, &stop), -EINTR);
    ck_assert_int_eq(atomic_load(&budget->used_blocks), used + 3000);
}
END_TEST

/* ---- several catalogues ---- */

/* Another view of the same directory, as from a container with a /dev/shm of its own. */
static void attach_other(struct stk_catalogue *other, const char *dir, struct stk_tier *tier)
{
    memset(tier, 0, sizeof *tier);
    ck_assert_int_eq(stk_catalogue_open(other, unit_directory("other"), true), 0);
    ck_assert_int_eq(stk_tier_attach(other, dir, 5 * MIB, tier), 0);
}

/* Takes as much as there is; returns how many blocks it got. */
static int64_t take_all(struct stk_tier *tier)
{
    int64_t taken = 0;
    while (stk_tier_take(tier->shared, 8, 0) == 0) {
        taken += 8;
    }
    return taken;
}

START_TEST(two_catalogues_share_a_budget)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_catalogue other;
    struct stk_tier one, two;
    const int64_t all = 5 * 2048;
    ck_assert_int_eq(attach(unit_directory("disk"), 5 * MIB, &one), 0);
    attach_other(&other, unit_path("disk"), &two);
    ck_assert_ptr_ne(one.shared, two.shared);
    atomic_store(&one.shared->budget.headroom_blocks, 0);
    atomic_store(&two.shared->budget.headroom_blocks, 0);
    int64_t used = atomic_load(&one.shared->budget.used_blocks);
    ck_assert_int_eq(stk_tier_take(one.shared, all / 2, 1), 0);
    int64_t taken = take_all(&two);
    ck_assert_int_le(used + all / 2 + taken, all);
    ck_assert_int_gt(used + all / 2 + taken, all - all / 32);
    ck_assert_int_le(take_all(&one), all / 32);
    /* Blocks that one process gives back, the other can take. */
    stk_tier_free(two.shared, taken, 0);
    atomic_store(&one.shared->budget.announced_ns, 0);
    ck_assert_int_gt(take_all(&one), taken - all / 16);
    ck_assert_int_le(atomic_load(&one.shared->budget.used_blocks), all);
    /* And what it drops of the other's. */
    stk_tier_free(two.shared, all / 4, 0);
    atomic_store(&one.shared->budget.announced_ns, 0);
    ck_assert_int_gt(take_all(&one), all / 4 - all / 16);
}
END_TEST

START_TEST(what_a_catalogue_leaves_is_known_to_the_next)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_catalogue other;
    struct stk_tier one, two;
    ck_assert_int_eq(attach(unit_directory("disk"), 5 * MIB, &one), 0);
    int64_t used = atomic_load(&one.shared->budget.used_blocks);
    ck_assert_int_eq(stk_tier_take(one.shared, 1000, 5), 0);
    ck_assert_int_eq(stk_tier_announce(one.shared, true), 0);
    attach_other(&other, unit_path("disk"), &two);
    ck_assert_int_eq(atomic_load(&two.shared->budget.used_blocks), used + 1000);
    ck_assert_int_eq(atomic_load(&two.shared->budget.used_inodes), EMPTY_INODES + 5);
}
END_TEST

/* How long it takes to be refused 8 blocks. */
static int64_t refused_in_ns(struct stk_tier *tier)
{
    int64_t began_ns = stk_clock_boottime_ns();
    ck_assert_int_eq(stk_tier_take(tier->shared, 8, 1), -EAGAIN);
    return stk_clock_boottime_ns() - began_ns;
}

/* A process that is stopped while it counts: others do without, and soon. On a busy machine each of
 * the short waits may take long, and not all tries are so unlucky. */
START_TEST(a_held_account_is_not_waited_for)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    struct stk_ledger ledger;
    bool soon = false;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    int64_t used = atomic_load(&tier.shared->budget.used_blocks);
    int fd = stk_ledger_open(tier.home, &ledger);
    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < 20 && !soon; i++) {
        soon = refused_in_ns(&tier) < STK_NS_PER_S;
        ck_assert_int_eq(atomic_load(&tier.shared->budget.used_blocks), used);
    }
    ck_assert(soon);
    ck_assert_int_eq(stk_ledger_close(fd, NULL), 0);
    ck_assert_int_eq(stk_tier_take(tier.shared, 8, 1), 0);
}
END_TEST

static atomic_bool is_over;

static void *take_8(void *tier)
{
    static int took;
    took = stk_tier_take(((struct stk_tier *)tier)->shared, 8, 1);
    atomic_store(&is_over, true);
    return &took;
}

/* The holder of the lock has announced all blocks that were taken until then, those of a waiter
 * among them. On a loaded machine a waiter may come too late to see that. */
START_TEST(who_waits_is_announced_with_the_others)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    struct stk_ledger ledger;
    void *took = NULL;
    bool any = false;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    struct stk_budget *budget = &tier.shared->budget;
    const int64_t before = atomic_load(&budget->limit_blocks);
    int fd = stk_ledger_open(tier.home, &ledger);
    for (int i = 0; i < 100 && !any; i++) {
        pthread_t thread;
        int64_t used = atomic_load(&budget->used_blocks);
        atomic_store(&budget->limit_blocks, before);
        atomic_store(&is_over, false);
        ck_assert_int_eq(pthread_create(&thread, NULL, take_8, &tier), 0);
        while (atomic_load(&budget->used_blocks) == used && !atomic_load(&is_over)) {
            sched_yield();
        }
        usleep(2000); /* it waits for 10 ms */
        atomic_store(&budget->limit_blocks, atomic_load(&budget->blocks));
        atomic_store(&budget->limit_inodes, atomic_load(&budget->inodes));
        pthread_join(thread, &took);
        any = *(int *)took == 0;
    }
    ck_assert(any);
    ck_assert_int_eq(stk_ledger_close(fd, NULL), 0);
}
END_TEST

/* Counts the tier anew: its account is missing (0), empty (1), or has a byte (2). */
static void count_anew(const struct stk_tier *tier, int how, struct stk_ledger *out)
{
    const char *path = unit_join(tier->home, "account");
    ck_assert_int_eq(unlink(path), 0);
    if (how > 0) {
        unit_write(path, "x", (size_t)how - 1);
    }
    ck_assert_int_eq(stk_ledger_close(stk_ledger_open(tier->home, out), NULL), 0);
}

/* The walk has 20 ms, which may be too little on a busy machine. Then all that the file system
 * holds counts as the tier's: that is never less. */
START_TEST(a_damaged_account_is_made_anew)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    struct stk_ledger right, ledger;
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    ck_assert_int_eq(stk_ledger_walk(tier.home, 0, NULL, &right.blocks, &right.inodes), 0);
    ck_assert_int_eq(stk_ledger_close(stk_ledger_open(tier.home, &ledger), NULL), 0);
    ck_assert_int_ge(ledger.blocks, right.blocks);
    for (int how = 0; how < 3; how++) {
        bool same = false;
        for (int i = 0; i < 100 && !same; i++) {
            count_anew(&tier, how, &ledger);
            ck_assert_int_ge(ledger.blocks, right.blocks);
            ck_assert_int_ge(ledger.inodes, right.inodes);
            same = ledger.blocks == right.blocks && ledger.inodes == right.inodes;
        }
        ck_assert(same);
    }
}
END_TEST

START_TEST(foresees_what_attaching_comes_to)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    static struct stk_tier_shared before, after;
    char home[STK_HOME_BYTES];
    ck_assert(stk_home_path(home, "/dev/shm"));
    ck_assert_int_eq(stk_tier_foresee("/dev/shm", 5 * MIB, 0, &before), 0);
    ck_assert_int_ne(access(home, F_OK), 0); /* nothing was made */
    ck_assert_str_eq(before.home, home);
    ck_assert_int_eq(attach("/dev/shm", 5 * MIB, &tier), 0);
    ck_assert_int_eq(before.budget.blocks, tier.shared->budget.blocks);
    ck_assert_int_ge(before.budget.inodes, tier.shared->budget.inodes - 16); /* these were made */
    ck_assert_uint_eq(before.block_bytes, tier.shared->block_bytes);
    ck_assert_uint_eq(before.memory, 1);
    unit_write_text(unit_join(home, "tree/entry"), "content");
    ck_assert_int_eq(stk_tier_foresee("/dev/shm", 5 * MIB, 0, &after), 0);
    ck_assert_int_ge(after.budget.used_blocks, 8);
    ck_assert_int_le(stk_budget_left(&after.budget), stk_budget_left(&before.budget) - 8);
    ck_assert_int_eq(stk_tier_foresee("/proc", 5 * MIB, 0, &after), -EMEDIUMTYPE);
}
END_TEST

/* The budget is then computed, as without one: a reserve stays free. */
START_TEST(budgets_above_what_there_can_be)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_tier tier;
    struct statvfs fs;
    static struct stk_tier_shared foreseen;
    ck_assert_int_eq(statvfs("/dev/shm", &fs), 0);
    int64_t total = (int64_t)fs.f_blocks * (int64_t)fs.f_frsize;
    int64_t most = total - stk_shm_floor(total);
    for (int64_t wanted = most + MIB; wanted < INT64_C(1) << 60; wanted *= 2) {
        ck_assert_int_eq(stk_tier_foresee("/dev/shm", wanted, 0, &foreseen), 0);
        ck_assert_int_le(foreseen.budget.blocks, most / 512 * 3 / 4);
    }
    ck_assert_int_eq(attach("/dev/shm", INT64_C(1) << 50, &tier), 0);
    ck_assert_int_le(atomic_load(&tier.shared->budget.blocks), most / 512 * 3 / 4);
    ck_assert_int_eq(stk_tier_set_budget(&tier, most), 0);
    ck_assert_int_eq(atomic_load(&tier.shared->budget.blocks), most / 512);
    ck_assert_int_eq(stk_tier_set_budget(&tier, most + 512), 0);
    ck_assert_int_le(atomic_load(&tier.shared->budget.blocks), most / 512 * 3 / 4);
}
END_TEST

Suite *suite_tier(void)
{
    Suite *suite = suite_create("tier");
    TCase *parse = unit_case(suite, "tier_parse");
    tcase_add_loop_test(parse, parses, 0, sizeof values / sizeof *values);
    tcase_add_test(parse, parses_one_after_the_other);
    tcase_add_test(parse, too_long_a_directory);
    TCase *all = unit_case(suite, "tier_attach");
    tcase_add_test(all, attaches);
    tcase_add_test(all, a_disk_behind_has_its_files_known);
    tcase_add_test(all, spelled_differently);
    tcase_add_test(all, errors);
    tcase_add_test(all, anothers);
    tcase_add_test(all, no_room);
    tcase_add_test(all, setup_is_overtaken);
    tcase_add_test(all, setup_is_not_waited_for_without_end);
    tcase_add_test(all, eight_tiers);
    tcase_add_test(all, a_damaged_home_is_no_tier);
    TCase *budget = unit_case(suite, "tier_budget");
    tcase_add_test(budget, default_budget_leaves_a_reserve);
    tcase_add_test(budget, foresees_what_attaching_comes_to);
    tcase_add_test(budget, budgets_above_what_there_can_be);
    tcase_add_test(budget, counts_what_is_there);
    tcase_add_test(budget, counting_has_a_limit);
    tcase_add_test(budget, counting_corrects_both_ways);
    tcase_add_test(budget, counting_beside_fillers_forgets_nothing);
    TCase *several = unit_case(suite, "tier_several");
    tcase_add_test(several, two_catalogues_share_a_budget);
    tcase_add_test(several, what_a_catalogue_leaves_is_known_to_the_next);
    tcase_add_test(several, a_held_account_is_not_waited_for);
    tcase_add_test(several, who_waits_is_announced_with_the_others);
    tcase_add_test(several, a_damaged_account_is_made_anew);
    return suite;
}
