/* cache/catalogue/budget.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalogue/budget.h"

#define GIB     (INT64_C(1) << 30)
#define WORKERS 8
#define ROUNDS  20000
#define ALLOWED 1000

START_TEST(takes_both_or_nothing)
{
    struct stk_budget budget = {0};
    ck_assert(!stk_budget_reserve(&budget, 1, 0));
    ck_assert(stk_budget_reserve(&budget, 0, 0));
    stk_budget_set(&budget, 10, 2);
    ck_assert(!stk_budget_reserve(&budget, 11, 1));
    ck_assert(stk_budget_reserve(&budget, 10, 1));
    ck_assert(!stk_budget_reserve(&budget, 1, 0));
    ck_assert(stk_budget_reserve(&budget, 0, 1));
    ck_assert(!stk_budget_reserve(&budget, 0, 1));
    stk_budget_release(&budget, 4, 0);
    ck_assert(!stk_budget_reserve(&budget, 4, 1)); /* no inode: the blocks are given back */
    ck_assert_int_eq(atomic_load(&budget.used_blocks), 6);
    ck_assert_int_eq(atomic_load(&budget.used_inodes), 2);
}
END_TEST

START_TEST(entries_leave_what_is_kept_aside)
{
    struct stk_budget budget = {0};
    atomic_store(&budget.headroom_blocks, 3);
    stk_budget_set(&budget, 10, 10);
    ck_assert(!stk_budget_reserve(&budget, 8, 1));
    ck_assert(stk_budget_reserve(&budget, 7, 1));
    ck_assert(stk_budget_take_headroom(&budget, 2));
    ck_assert(!stk_budget_reserve(&budget, 1, 1));
    ck_assert(stk_budget_take_headroom(&budget, 1));
    ck_assert(!stk_budget_take_headroom(&budget, 1)); /* the whole is a limit for all */
    ck_assert_int_eq(atomic_load(&budget.used_blocks), 10);
    stk_budget_give_headroom(&budget, 3);
    ck_assert(!stk_budget_reserve(&budget, 1, 1)); /* kept aside again */
    ck_assert(stk_budget_take_headroom(&budget, 3));
}
END_TEST

START_TEST(headroom_may_be_exceeded)
{
    struct stk_budget budget = {0};
    atomic_store(&budget.headroom_blocks, 3);
    stk_budget_set(&budget, 10, 10);
    ck_assert(stk_budget_take_headroom(&budget, 5));
    ck_assert(stk_budget_reserve(&budget, 5, 1));
}
END_TEST

START_TEST(headroom_is_a_small_share)
{
    ck_assert_int_eq(stk_budget_headroom_of(6400, 0), 100);
    ck_assert_int_eq(stk_budget_headroom_of(1024 * GIB / STK_BLOCK_BYTES, 0),
                     8 * GIB / STK_BLOCK_BYTES);
}
END_TEST

START_TEST(headroom_for_the_files_of_other_tiers)
{
    ck_assert_int_eq(stk_budget_headroom_of(6400, 64000), 1100);
    ck_assert_int_eq(stk_budget_headroom_of(6400, 6400000), 1600);
    ck_assert_int_eq(stk_budget_headroom_of(0, 6400000), 0);
    ck_assert_int_eq(stk_budget_headroom_of(-1, INT64_MAX), 0);
}
END_TEST

START_TEST(never_below_zero)
{
    struct stk_budget budget = {0};
    stk_budget_set(&budget, 10, 10);
    ck_assert(stk_budget_reserve(&budget, 3, 1));
    stk_budget_release(&budget, 5, 5);
    ck_assert_int_eq(atomic_load(&budget.used_blocks), 0);
    ck_assert_int_eq(atomic_load(&budget.used_inodes), 0);
}
END_TEST

START_TEST(lowered_below_what_is_used)
{
    struct stk_budget budget = {0};
    stk_budget_set(&budget, 10, 10);
    ck_assert(stk_budget_reserve(&budget, 8, 1));
    stk_budget_set(&budget, 4, 10);
    ck_assert(!stk_budget_reserve(&budget, 1, 0));
    stk_budget_release(&budget, 8, 1);
    ck_assert(stk_budget_reserve(&budget, 4, 0));
}
END_TEST

START_TEST(generation_tells_that_more_may_fit)
{
    struct stk_budget budget = {0};
    uint32_t before = atomic_load(&budget.generation);
    stk_budget_set(&budget, 10, 10);
    uint32_t set = atomic_load(&budget.generation);
    ck_assert_uint_ne(set, before);
    ck_assert(stk_budget_reserve(&budget, 5, 1));
    stk_budget_release(&budget, 1, 0);
    ck_assert_uint_eq(atomic_load(&budget.generation), set);
    stk_budget_try_again(&budget);
    ck_assert_uint_ne(atomic_load(&budget.generation), set);
    ck_assert_int_eq(atomic_load(&budget.used_blocks), 4);
}
END_TEST

/* Reserves and releases at random; counts how often more was in use than allowed. */
static long use_budget(struct stk_budget *budget, unsigned seed)
{
    long exceeded = 0;
    int64_t held_blocks = 0, held_inodes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t blocks = rand_r(&seed) % 200;
        if (stk_budget_reserve(budget, blocks, 1)) {
            held_blocks += blocks;
            held_inodes++;
        } else {
            stk_budget_release(budget, held_blocks, held_inodes);
            held_blocks = held_inodes = 0;
        }
        exceeded += atomic_load(&budget->used_blocks) > ALLOWED;
        exceeded += atomic_load(&budget->used_inodes) > ALLOWED / 100;
    }
    stk_budget_release(budget, held_blocks, held_inodes);
    return exceeded;
}

static struct stk_budget *shared_budget(void)
{
    struct stk_budget *budget =
        mmap(NULL, sizeof *budget, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(budget, MAP_FAILED);
    stk_budget_set(budget, ALLOWED, ALLOWED / 100);
    return budget;
}

static void *use_in_thread(void *budget)
{
    return (void *)use_budget(budget, (unsigned)pthread_self());
}

START_TEST(never_exceeded_by_threads)
{
    pthread_t threads[WORKERS];
    void *exceeded;
    struct stk_budget *budget = shared_budget();
    for (int i = 0; i < WORKERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_in_thread, budget), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &exceeded), 0);
        ck_assert_ptr_null(exceeded);
    }
    ck_assert_int_eq(atomic_load(&budget->used_blocks), 0);
    ck_assert_int_eq(atomic_load(&budget->used_inodes), 0);
}
END_TEST

START_TEST(never_exceeded_by_processes)
{
    int status;
    struct stk_budget *budget = shared_budget();
    for (unsigned i = 0; i < WORKERS; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            _exit(use_budget(budget, i) == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(atomic_load(&budget->used_blocks), 0);
    ck_assert_int_eq(atomic_load(&budget->used_inodes), 0);
}
END_TEST

START_TEST(blocks_of_a_file)
{
    ck_assert_int_eq(stk_budget_blocks_of(0, 4096), 0);
    ck_assert_int_eq(stk_budget_blocks_of(1, 4096), 8);
    ck_assert_int_eq(stk_budget_blocks_of(4096, 4096), 8);
    ck_assert_int_eq(stk_budget_blocks_of(4097, 4096), 16);
    ck_assert_int_eq(stk_budget_blocks_of(513, 512), 2);
    ck_assert_int_eq(stk_budget_blocks_of(513, 0), 2);
    ck_assert_int_eq(stk_budget_blocks_of(5 * (uint64_t)GIB, 65536), 10 * GIB / 1024);
}
END_TEST

START_TEST(reserve_rule)
{
    static const int64_t rows[][2] = {
        /* available -> allowed, with a least reserve of 8 GiB */
        {100 * GIB, 80 * GIB}, /* 20% */
        {40 * GIB, 32 * GIB},  /* where both are equal */
        {20 * GIB, 12 * GIB},  /* 8 GiB */
        {16 * GIB, 8 * GIB},   /* half */
        {10 * GIB, 5 * GIB},   /* at most half */
        {1000, 500},           {0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(stk_budget_less_reserve(rows[i][0], 8 * GIB), rows[i][1]);
    }
    ck_assert_int_gt(stk_budget_less_reserve(INT64_MAX, 8 * GIB), 0);
}
END_TEST

START_TEST(full_for_a_while)
{
    struct stk_budget budget = {0};
    stk_budget_note_error(&budget, -EIO);
    ck_assert(!stk_budget_is_full(&budget));
    stk_budget_note_error(&budget, -EDQUOT);
    ck_assert(stk_budget_is_full(&budget));
    atomic_store(&budget.full_ns, stk_clock_boottime_ns() - 6 * STK_NS_PER_S);
    ck_assert(!stk_budget_is_full(&budget));
    stk_budget_note_error(&budget, -ENOSPC);
    ck_assert(stk_budget_is_full(&budget));
    /* The time is in the future, as in an overwritten catalogue: it must not block the tier until
     * that day. */
    atomic_store(&budget.full_ns, stk_clock_boottime_ns() + 6 * STK_NS_PER_S);
    ck_assert(!stk_budget_is_full(&budget));
}
END_TEST

Suite *suite_budget(void)
{
    Suite *suite = suite_create("budget");
    TCase *count = unit_case(suite, "budget_count");
    tcase_add_test(count, takes_both_or_nothing);
    tcase_add_test(count, never_below_zero);
    tcase_add_test(count, entries_leave_what_is_kept_aside);
    tcase_add_test(count, headroom_may_be_exceeded);
    tcase_add_test(count, headroom_is_a_small_share);
    tcase_add_test(count, headroom_for_the_files_of_other_tiers);
    tcase_add_test(count, lowered_below_what_is_used);
    tcase_add_test(count, generation_tells_that_more_may_fit);
    TCase *race = unit_case(suite, "budget_race");
    tcase_add_test(race, never_exceeded_by_threads);
    tcase_add_test(race, never_exceeded_by_processes);
    TCase *rule = unit_case(suite, "budget_rule");
    tcase_add_test(rule, blocks_of_a_file);
    tcase_add_test(rule, reserve_rule);
    tcase_add_test(rule, full_for_a_while);
    return suite;
}
