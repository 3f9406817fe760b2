/* Several tiers: cache/cache_core.c, make.c, fill.c, blocks.c */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/big/big.h"
#include "cache/tier/ledger.h"
#include "tests/unit/box.h"

#define MIB        (1 << 20)
#define FILE_BYTES 300000
#define FILES      60

static char data[8 * MIB];

static void name_tiers(const char *first, const char *second_size)
{
    box_prepare();
    snprintf(box.options.tiers, sizeof box.options.tiers, "%s,%s:%s", first,
             unit_directory("second"), second_size);
}

static void open_tiers(const char *first, const char *second_size)
{
    name_tiers(first, second_size);
    box_reopen();
    ck_assert_ptr_nonnull(box.cache.tiers[0].shared);
    ck_assert_ptr_nonnull(box.cache.tiers[1].shared);
    ck_assert_ptr_null(box.cache.tiers[2].shared);
}

static bool is_in(const struct stk_tier *tier, const char *path)
{
    return strncmp(path, tier->home, strlen(tier->home)) == 0 && path[strlen(tier->home)] == '/';
}

static void never_above(const struct stk_tier *tier)
{
    int64_t blocks, inodes;
    struct stk_budget *budget = &tier->shared->budget;
    ck_assert_int_eq(stk_ledger_walk(tier->home, 0, NULL, &blocks, &inodes), 0);
    ck_assert_int_le(blocks, atomic_load(&budget->blocks));
    ck_assert_int_le(atomic_load(&budget->used_blocks), atomic_load(&budget->blocks));
}

static const char *numbered(int i)
{
    static char name[16];
    snprintf(name, sizeof name, "file%02d", i);
    return name;
}

static void write_file(const char *name, size_t bytes)
{
    memset(data, name[strlen(name) - 1], bytes);
    unit_tick();
    unit_write(box_origin(name), data, bytes);
    unit_tick();
}

static bool holds(const char *path, char letter, size_t bytes)
{
    static char got[sizeof data];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && read(fd, got, sizeof got) == (ssize_t)bytes;
    close(fd);
    for (size_t i = 0; whole && i < bytes; i++) {
        whole = got[i] == letter;
    }
    return whole;
}

/* How many of them each tier has taken; the rest goes to the origin. */
static void fill_all(int counts[3])
{
    memset(counts, 0, 3 * sizeof *counts);
    for (int i = 0; i < FILES; i++) {
        write_file(numbered(i), FILE_BYTES);
        bool filled = box_open_file(numbered(i));
        int where = !filled ? 2 : is_in(&box.cache.tiers[1], box.entry);
        counts[where]++;
        ck_assert(!filled || box.outcome.tier == box.cache.tiers[where].index);
        never_above(&box.cache.tiers[0]);
        never_above(&box.cache.tiers[1]);
    }
}

START_TEST(fills_the_first_then_the_second)
{
    UNIT_NEEDS_PRIVATE();
    int counts[3];
    open_tiers("/dev/shm:8M", "4M");
    fill_all(counts);
    ck_assert_int_gt(counts[0], 8);
    ck_assert_int_ge(counts[1], 12);
    ck_assert_int_le(counts[1], 14);
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_BUDGET);
    for (int i = 0; i < FILES; i++) {
        const struct stk_tier *tier = &box.cache.tiers[i >= counts[0]];
        bool there = i < counts[0] + counts[1];
        ck_assert_int_eq(box_ask(numbered(i)), there ? STK_ANSWER_HIT : STK_ANSWER_ORIGIN);
        ck_assert(!there || (is_in(tier, box.ask.entry) && box.ask.tier == tier->index));
        ck_assert(!there || holds(box.ask.entry, (char)('0' + i % 10), FILE_BYTES));
    }
}
END_TEST

/* Whichever gets more room: what was refused by both is tried again. */
START_TEST(refused_until_one_of_them_has_room)
{
    UNIT_NEEDS_PRIVATE();
    int counts[3];
    open_tiers("/dev/shm:8M", "4M");
    fill_all(counts);
    for (int i = 1; i >= 0; i--) {
        const char *name = numbered(FILES - 1 - i);
        struct stk_budget *budget = &box.cache.tiers[i].shared->budget;
        ck_assert(!box_open_file(name));
        ck_assert_int_eq(box_ask(name), STK_ANSWER_ORIGIN);
        ck_assert_int_eq(box.ask.why, STK_BYPASS_BUDGET);
        stk_budget_set(budget, atomic_load(&budget->used_blocks) + 1000, 1000);
        ck_assert_int_eq(box_ask(name), STK_ANSWER_FILL);
        ck_assert(box_fill(name));
        ck_assert(is_in(&box.cache.tiers[i], box.entry));
    }
}
END_TEST

START_TEST(not_moved_when_there_is_room_again)
{
    UNIT_NEEDS_PRIVATE();
    int counts[3];
    char before[STK_PATH_BYTES];
    open_tiers("/dev/shm:8M", "4M");
    fill_all(counts);
    const char *name = numbered(counts[0]);
    ck_assert_int_eq(box_ask(name), STK_ANSWER_HIT);
    strcpy(before, box.ask.entry);
    stk_budget_set(&box.cache.tier.shared->budget, 64 * 2048, 10000);
    box_begin_run();
    ck_assert(box_open_file(name));
    ck_assert_str_eq(box.entry, before);
}
END_TEST

START_TEST(refused_by_these_tiers_alone)
{
    UNIT_NEEDS_PRIVATE();
    name_tiers("/dev/shm:8M", "4M");
    char both[STK_TIERS_BYTES];
    strcpy(both, box.options.tiers);
    strcpy(box.options.tiers, "/dev/shm:8M");
    box_reopen();
    stk_budget_set(&box.cache.tier.shared->budget,
                   atomic_load(&box.cache.tier.shared->budget.used_blocks) + 4000, 100);
    write_file("file0", MIB / 2);
    write_file("file1", MIB);
    ck_assert(box_open_file("file0")); /* pays for the catalogue, too */
    ck_assert(!box_open_file("file1"));
    ck_assert_int_eq(box_ask("file1"), STK_ANSWER_ORIGIN);
    strcpy(box.options.tiers, both);
    box_reopen();
    ck_assert(box_open_file("file1"));
    ck_assert(is_in(&box.cache.tiers[1], box.entry));
}
END_TEST

START_TEST(found_in_either_without_the_catalogue)
{
    UNIT_NEEDS_PRIVATE();
    char catalogue[STK_HOME_BYTES + 16];
    int counts[3];
    open_tiers("/dev/shm:7M", "4M");
    fill_all(counts);
    snprintf(catalogue, sizeof catalogue, "%s/catalogue", box.cache.tier.home);
    stk_catalogue_close(&box.cache.catalogue);
    ck_assert_int_eq(unlink(catalogue), 0);
    memcpy(box.options.tiers, "/dev/shm:9M", 11); /* which has to pay for another one */
    box_reopen();
    for (int i = 0; i < counts[0] + counts[1]; i++) {
        ck_assert(box_open_file(numbered(i)));
        ck_assert_int_eq(box.outcome.kind, STK_COUNT_HITS);
        ck_assert_uint_eq(box.outcome.tier, box.cache.tiers[i >= counts[0]].index);
        ck_assert_int_eq(box_ask(numbered(i)), STK_ANSWER_HIT);
        ck_assert_str_eq(box.ask.entry, box.entry);
    }
}
END_TEST

/* ---- tiers that fail ---- */

START_TEST(a_full_file_system_first)
{
    UNIT_NEEDS_PRIVATE();
    char first[STK_HOME_BYTES];
    const char *small = unit_directory("small");
    unit_mount_tmpfs(small, "size=2m,mode=0755");
    snprintf(first, sizeof first, "%s:2M", small);
    open_tiers(first, "4M");
    unit_write(unit_join(small, "of-another"), data, MIB);
    unit_write(unit_join(small, "of-another-2"), data, MIB / 2);
    write_file("file7", MIB);
    int64_t used = box_used_blocks();
    ck_assert(box_open_file("file7"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_FILLS);
    ck_assert(is_in(&box.cache.tiers[1], box.entry));
    ck_assert(holds(box.entry, '7', MIB));
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

/* Memory is short in the first alone. */
START_TEST(pressure_first)
{
    UNIT_NEEDS_PRIVATE();
    unit_mount_tmpfs("/dev/shm", "size=80m,mode=01777");
    open_tiers("/dev/shm:16M", "4M");
    write_file("file1", MIB / 2);
    ck_assert(box_open_file("file1"));
    ck_assert(is_in(&box.cache.tiers[0], box.entry));
    int fd = open("/dev/shm/of-another", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(posix_fallocate(fd, 0, 18 * MIB), 0);
    close(fd);
    write_file("file2", MIB);
    ck_assert(box_open_file("file2"));
    ck_assert(is_in(&box.cache.tiers[1], box.entry));
    stk_budget_set(&box.cache.tiers[1].shared->budget, 1, 100); /* and the second is full */
    write_file("file3", MIB);
    ck_assert(!box_open_file("file3"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_MEMORY);
    ck_assert_int_eq(box_ask("file3"), STK_ANSWER_ORIGIN);
    ck_assert_int_eq(box.ask.why, STK_BYPASS_MEMORY);
    ck_assert_int_eq(unlink("/dev/shm/of-another"), 0);
    usleep(150000); /* it is looked at ten times a second */
    ck_assert(box_open_file("file3"));
    ck_assert(is_in(&box.cache.tiers[0], box.entry));
}
END_TEST

START_TEST(what_is_no_tier_is_left_out)
{
    UNIT_NEEDS_PRIVATE();
    char list[STK_TIERS_BYTES];
    const char *second = unit_directory("second");
    box_prepare();
    snprintf(list, sizeof list, ",/proc:1G,/dev/shm:nothing,%s:4M,/dev/shm:8M,%s/../second:9M",
             second, second);
    strcpy(box.options.tiers, list);
    box_reopen();
    ck_assert(is_in(&box.cache.tiers[0], unit_join(box.cache.tiers[0].home, "x")));
    ck_assert_int_eq(strncmp(box.cache.tiers[0].home, second, strlen(second)), 0);
    ck_assert_int_eq(strncmp(box.cache.tiers[1].home, "/dev/shm/", 9), 0);
    ck_assert_ptr_null(box.cache.tiers[2].shared);
    write_file("file1", MIB);
    ck_assert(box_open_file("file1"));
    ck_assert(is_in(&box.cache.tiers[0], box.entry));
}
END_TEST

/* ---- big files, listings ---- */

#define BLOCK STK_LEAST_BLOCK_BYTES

static struct stk_big bigs[2];

static int open_big(const char *name, struct stk_big *big)
{
    struct stk_outcome outcome;
    char entry[STK_PATH_BYTES];
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = open(box_origin(name), O_RDONLY | O_CLOEXEC);
    ck_assert(!stk_cache_fill(&box.cache, box_place(name), fd, opened_ns, entry, &outcome));
    ck_assert_int_eq(outcome.why, STK_BYPASS_LARGE);
    ck_assert_int_eq(stk_big_open(big, &box.cache, box_place(name), outcome.record, fd, opened_ns),
                     STK_BYPASS_NONE);
    return fd;
}

static void open_tiers_for_blocks(void)
{
    name_tiers("/dev/shm:12M", "32M");
    box.options.max_file_bytes = 100;
    box.options.block_bytes = BLOCK;
    box.options.whole_bytes = 64 * MIB;
    box_reopen();
    write_file("small", 100); /* which pays for the catalogue */
    ck_assert(box_open_file("small"));
}

static bool have_all(struct stk_big *big, int fd)
{
    bool all = true, filled;
    for (uint64_t block = 0; block < big->blocks.count; block++) {
        all = stk_big_have(&box.cache, big, fd, block, &filled) && all;
    }
    return all;
}

/* Both are open before anything of them is there. */
START_TEST(big_files_lie_where_they_fit)
{
    UNIT_NEEDS_PRIVATE();
    open_tiers_for_blocks();
    write_file("big1", 6 * MIB);
    write_file("big2", 6 * MIB);
    int fds[2] = {open_big("big1", &bigs[0]), open_big("big2", &bigs[1])};
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_eq(bigs[i].blocks.tier, &box.cache.tiers[i]);
        ck_assert(have_all(&bigs[i], fds[i]));
        ck_assert(is_in(&box.cache.tiers[i], bigs[i].entry));
        ck_assert(holds(bigs[i].entry, (char)('1' + i), 6 * MIB));
        ck_assert_int_eq(box_ask(i == 0 ? "big1" : "big2"), STK_ANSWER_HIT);
        ck_assert_uint_eq(box.ask.tier, box.cache.tiers[i].index);
        ck_assert_int_eq(atomic_load(&box.cache.tiers[i].shared->awaited_blocks), 0);
        never_above(&box.cache.tiers[i]);
        stk_big_close(&bigs[i]);
        close(fds[i]);
    }
}
END_TEST

/* The first was filled up by others before anything of it came. */
START_TEST(a_big_file_goes_on_to_the_next)
{
    UNIT_NEEDS_PRIVATE();
    open_tiers_for_blocks();
    write_file("big1", 6 * MIB);
    int fd = open_big("big1", &bigs[0]);
    struct stk_budget *budget = &box.cache.tier.shared->budget;
    ck_assert_ptr_eq(bigs[0].blocks.tier, &box.cache.tiers[0]);
    ck_assert(stk_budget_reserve(budget, stk_budget_left(budget), 0));
    ck_assert(!have_all(&bigs[0], fd));
    stk_big_close(&bigs[0]);
    close(fd);
    int64_t used = atomic_load(&budget->used_inodes);
    fd = open_big("big1", &bigs[0]);
    ck_assert_ptr_eq(bigs[0].blocks.tier, &box.cache.tiers[1]);
    ck_assert(have_all(&bigs[0], fd));
    ck_assert_int_eq(atomic_load(&budget->used_inodes), used - 2); /* its table, too */
    ck_assert_int_eq(atomic_load(&box.cache.tier.shared->awaited_blocks), 0);
    ck_assert(holds(bigs[0].entry, '1', 6 * MIB));
}
END_TEST

/* Its table lies in the first one's file system, which has something aside for it. */
START_TEST(a_big_file_behind_a_full_tier)
{
    UNIT_NEEDS_PRIVATE();
    open_tiers_for_blocks();
    struct stk_budget *budget = &box.cache.tier.shared->budget;
    ck_assert(stk_budget_reserve(budget, stk_budget_left(budget), 0));
    int64_t used = atomic_load(&budget->used_blocks);
    write_file("big1", 6 * MIB);
    int fd = open_big("big1", &bigs[0]);
    int64_t table = unit_stat(bigs[0].blocks.state).st_blocks;
    ck_assert_int_eq(atomic_load(&budget->used_blocks), used + table);
    ck_assert(have_all(&bigs[0], fd));
    ck_assert_int_eq(atomic_load(&budget->used_blocks), used);
    ck_assert(is_in(&box.cache.tiers[1], bigs[0].entry));
    ck_assert(holds(bigs[0].entry, '1', 6 * MIB));
}
END_TEST

static pthread_barrier_t together;
static const struct stk_record *to_be_opened;

static void *open_it(void *at)
{
    struct stk_big_blocks *blocks = at;
    pthread_barrier_wait(&together);
    stk_big_blocks_open(blocks, &box.cache, to_be_opened, BLOCK);
    return at;
}

/* A thread that comes a moment later finds the first tier promised to that very file. */
START_TEST(one_table_for_all_who_come_at_once)
{
    UNIT_NEEDS_PRIVATE();
    enum { THREADS = 4 };
    static struct stk_big_blocks views[THREADS];
    pthread_t threads[THREADS];
    open_tiers_for_blocks();
    write_file("big1", 6 * MIB);
    box_learn("big1");
    to_be_opened = box_record("big1");
    for (int round = 0; round < 300; round++) {
        pthread_barrier_init(&together, NULL, THREADS);
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, open_it, &views[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        int64_t awaited = 0;
        for (int i = 0; i < 2; i++) {
            awaited += atomic_load(&box.cache.tiers[i].shared->awaited_blocks);
        }
        ck_assert_int_le(awaited, 6 * MIB / 512); /* none, if all have given way */
        for (int i = 0; i < THREADS; i++) {
            if (views[i].table != NULL) {
                stk_big_blocks_lose(&views[i], &box.cache);
                unlink(views[i].file);
                stk_big_blocks_close(&views[i]);
            }
        }
    }
}
END_TEST

Suite *suite_tiers(void)
{
    Suite *suite = suite_create("tiers");
    TCase *all = unit_case(suite, "tiers_in_order");
    tcase_add_test(all, fills_the_first_then_the_second);
    tcase_add_test(all, refused_until_one_of_them_has_room);
    tcase_add_test(all, not_moved_when_there_is_room_again);
    tcase_add_test(all, refused_by_these_tiers_alone);
    tcase_add_test(all, found_in_either_without_the_catalogue);
    TCase *failing = unit_case(suite, "tiers_that_fail");
    tcase_add_test(failing, a_full_file_system_first);
    tcase_add_test(failing, pressure_first);
    tcase_add_test(failing, what_is_no_tier_is_left_out);
    TCase *others = unit_case(suite, "tiers_of_big_files");
    tcase_add_test(others, big_files_lie_where_they_fit);
    tcase_add_test(others, a_big_file_goes_on_to_the_next);
    tcase_add_test(others, a_big_file_behind_a_full_tier);
    tcase_add_test(others, one_table_for_all_who_come_at_once);
    return suite;
}
