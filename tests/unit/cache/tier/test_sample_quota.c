/* cache/tier/sample_quota.c */
#include "cache/tier/sample_quota.h"

#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "base/samples.h"
#include "tests/unit/unit.h"
#include "tests/unit/cache/recount.h"

#define MIB    (INT64_C(1) << 20)
#define BLOCKS (MIB / STK_BLOCK_BYTES)

static struct stk_catalogue catalogue;
static struct stk_tier tier;

static void attach(int64_t bytes)
{
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_directory("catalogue"), true), 0);
    ck_assert_int_eq(stk_tier_attach(&catalogue, unit_directory("tier"), bytes, &tier), 0);
}

static int64_t used(void)
{
    return atomic_load(&tier.shared->budget.used_blocks);
}

/* Writes a store of this namespace with so many bytes. */
static void write_store(size_t bytes)
{
    char name[STK_SAMPLES_NAME_BYTES];
    void *data = calloc(1, bytes);
    ck_assert(stk_samples_name(stk_proc_pid_namespace(), name));
    mkdir(unit_join(tier.home, STK_SAMPLES_DIRECTORY), 0700);
    const char *place = unit_join(unit_join(tier.home, STK_SAMPLES_DIRECTORY), name);
    mkdir(place, 0700);
    memset(data, 1, bytes);
    unit_write(unit_join(place, "data.mdb"), data, bytes);
    free(data);
}

START_TEST(within_the_budget)
{
    UNIT_NEEDS_PRIVATE();
    attach(10 * MIB);
    int64_t before = used();
    struct stk_sample_quota *quota = stk_sample_quota_find(&tier);
    ck_assert_ptr_nonnull(quota);
    ck_assert_ptr_eq(stk_sample_quota_find(&tier), quota);
    ck_assert_int_eq(quota->blocks, 0);
    ck_assert_int_eq(stk_sample_quota_raise(&tier, quota, 4 * BLOCKS), 4 * BLOCKS);
    ck_assert_int_eq(used() - before, 4 * BLOCKS);
    ck_assert(stk_budget_reserve(&tier.shared->budget, 3 * BLOCKS, 1));
    int64_t rest = stk_sample_quota_raise(&tier, quota, 4 * BLOCKS);
    ck_assert_int_gt(rest, BLOCKS);
    ck_assert_int_lt(rest, 3 * BLOCKS + 1);
    ck_assert_int_eq(quota->blocks, 4 * BLOCKS + rest);
    ck_assert_int_eq(stk_budget_left(&tier.shared->budget), 0);
    ck_assert_int_eq(stk_sample_quota_raise(&tier, quota, 1), 0);
    ck_assert(!stk_budget_reserve(&tier.shared->budget, 1, 0));
}
END_TEST

/* An existing store is in the budget already: it is not reserved twice. */
START_TEST(a_store_that_is_there)
{
    UNIT_NEEDS_PRIVATE();
    attach(10 * MIB);
    write_store(2 * MIB);
    ck_assert_int_eq(unit_recount(&tier), 0);
    int64_t before = used();
    ck_assert_int_ge(before, 2 * BLOCKS);
    struct stk_sample_quota *quota = stk_sample_quota_find(&tier);
    ck_assert_int_ge(quota->blocks, 2 * BLOCKS);
    ck_assert_int_eq(quota->blocks, stk_sample_quota_used_blocks(&tier));
    ck_assert_int_eq(used(), before);
    stk_sample_quota_raise(&tier, quota, BLOCKS);
    stk_sample_quota_forget(&tier);
    ck_assert_int_eq(unit_recount(&tier), 0);
    ck_assert_int_eq(used(), before);
    ck_assert_int_eq(stk_sample_quota_find(&tier)->blocks, stk_sample_quota_used_blocks(&tier));
}
END_TEST

/* Blocks that are set aside are none of the blocks that the tier holds, in whichever namespace. */
START_TEST(what_is_set_aside)
{
    UNIT_NEEDS_PRIVATE();
    attach(20 * MIB);
    ck_assert_int_eq(stk_sample_quota_unused_blocks(&tier), 0);
    struct stk_sample_quota *quota = stk_sample_quota_find(&tier);
    stk_sample_quota_raise(&tier, quota, 6 * BLOCKS);
    ck_assert_int_eq(stk_sample_quota_unused_blocks(&tier), 6 * BLOCKS);
    write_store(2 * MIB);
    ck_assert_int_eq(stk_sample_quota_unused_blocks(&tier),
                     6 * BLOCKS - stk_sample_quota_used_blocks(&tier));
    atomic_store(&tier.shared->quotas[1].namespace, 1);
    atomic_store(&tier.shared->quotas[1].blocks, 5);
    ck_assert_int_eq(stk_sample_quota_unused_blocks(&tier),
                     6 * BLOCKS - stk_sample_quota_used_blocks(&tier) + 5);
    atomic_store(&quota->blocks, 0); /* more is there than was granted: nothing is set aside */
    ck_assert_int_eq(stk_sample_quota_unused_blocks(&tier), 5);
    atomic_store(&quota->blocks, INT64_MAX); /* damaged */
    ck_assert_int_eq(stk_sample_quota_unused_blocks(&tier), used());
}
END_TEST

START_TEST(as_many_namespaces_as_there_are_places)
{
    UNIT_NEEDS_PRIVATE();
    attach(10 * MIB);
    for (uint64_t i = 0; i < STK_SAMPLE_QUOTAS; i++) {
        atomic_store(&tier.shared->quotas[i].namespace, i + 1);
    }
    ck_assert_ptr_null(stk_sample_quota_find(&tier));
    stk_sample_quota_forget(&tier);
    ck_assert_ptr_nonnull(stk_sample_quota_find(&tier));
}
END_TEST

START_TEST(steps)
{
    UNIT_NEEDS_PRIVATE();
    attach(10 * MIB);
    ck_assert_int_eq(stk_sample_quota_step_blocks(&tier), 4 * BLOCKS);
    atomic_store(&tier.shared->budget.blocks, 6400 * BLOCKS);
    ck_assert_int_eq(stk_sample_quota_step_blocks(&tier), 100 * BLOCKS);
    atomic_store(&tier.shared->budget.blocks, 6400000 * BLOCKS);
    ck_assert_int_eq(stk_sample_quota_step_blocks(&tier), 1024 * BLOCKS);
}
END_TEST

Suite *suite_sample_quota(void)
{
    Suite *suite = suite_create("sample_quota");
    TCase *tcase = unit_case(suite, "grant");
    tcase_add_test(tcase, within_the_budget);
    tcase_add_test(tcase, a_store_that_is_there);
    tcase_add_test(tcase, what_is_set_aside);
    tcase_add_test(tcase, as_many_namespaces_as_there_are_places);
    tcase_add_test(tcase, steps);
    return suite;
}
