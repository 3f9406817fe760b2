/* base/waits.c */
#include "tests/unit/unit.h"

#include "base/waits.h"

#define US INT64_C(1000)

/* Two for each doubling: every other one is twice what the last but one was. */
START_TEST(bounds)
{
    ck_assert_uint_eq(stk_waits_bound_us(0), 16);
    ck_assert_uint_eq(stk_waits_bound_us(1), 22);
    ck_assert_uint_eq(stk_waits_bound_us(2), 32);
    for (unsigned bucket = 2; bucket < STK_WAITS_BUCKETS - 1; bucket++) {
        uint64_t twice = 2 * stk_waits_bound_us(bucket - 2), bound = stk_waits_bound_us(bucket);
        ck_assert(bound == twice || bound == twice + 1);
        ck_assert_uint_gt(bound, stk_waits_bound_us(bucket - 1));
    }
    ck_assert_uint_eq(stk_waits_bound_us(STK_WAITS_BUCKETS - 2), UINT64_C(16) << 20);
    ck_assert_uint_eq(stk_waits_bound_us(STK_WAITS_BUCKETS - 1), UINT64_MAX);
}
END_TEST

START_TEST(each_wait_has_its_bucket)
{
    ck_assert_uint_eq(stk_waits_bucket(-5), 0);
    ck_assert_uint_eq(stk_waits_bucket(0), 0);
    ck_assert_uint_eq(stk_waits_bucket(INT64_MAX), STK_WAITS_BUCKETS - 1);
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS - 1; bucket++) {
        int64_t bound_ns = (int64_t)stk_waits_bound_us(bucket) * US;
        ck_assert_uint_eq(stk_waits_bucket(bound_ns), bucket);
        ck_assert_uint_eq(stk_waits_bucket(bound_ns + 1), bucket + 1);
    }
}
END_TEST

START_TEST(percentiles)
{
    uint64_t counts[STK_WAITS_BUCKETS] = {0};
    ck_assert_uint_eq(stk_waits_percentile_us(counts, 50), 0);
    counts[4] = 98; /* 45 to 64 us */
    counts[16] = 2; /* 2896 to 4096 us */
    ck_assert_uint_eq(stk_waits_percentile_us(counts, 50), 45 + 19 * 50 / 98);
    ck_assert_uint_eq(stk_waits_percentile_us(counts, 98), 64);
    ck_assert_uint_eq(stk_waits_percentile_us(counts, 99), 2896 + 600);
    ck_assert_uint_eq(stk_waits_percentile_us(counts, 100), 4096);
    counts[STK_WAITS_BUCKETS - 1] = 1000;
    ck_assert_uint_eq(stk_waits_percentile_us(counts, 99), UINT64_C(16) << 20);
}
END_TEST

Suite *suite_waits(void)
{
    Suite *suite = suite_create("waits");
    TCase *all = unit_case(suite, "waits");
    tcase_add_test(all, bounds);
    tcase_add_test(all, each_wait_has_its_bucket);
    tcase_add_test(all, percentiles);
    return suite;
}
