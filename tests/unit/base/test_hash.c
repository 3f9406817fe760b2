/* base/hash.c */
#include "tests/unit/unit.h"

#include <stdbool.h>

#include "base/hash.h"

/* Names of entries must be the same tomorrow: these are XXH3's published values for no input. */
START_TEST(known_values)
{
    ck_assert_uint_eq(stk_hash_64("", 0, 0), UINT64_C(0x2d06800538d394c2));
    struct stk_hash128 hash = stk_hash_128("", 0, 0);
    ck_assert_uint_eq(hash.low, UINT64_C(0x6001c324468d497f));
    ck_assert_uint_eq(hash.high, UINT64_C(0x99aa06d3014798d8));
}
END_TEST

START_TEST(seed_and_data_count)
{
    ck_assert_uint_ne(stk_hash_64("abc", 3, 0), stk_hash_64("abc", 3, 1));
    ck_assert_uint_ne(stk_hash_64("abc", 3, 0), stk_hash_64("abd", 3, 0));
    struct stk_hash128 a = stk_hash_128("abc", 3, 0), b = stk_hash_128("abc", 3, 1);
    ck_assert_uint_ne(a.low, b.low);
    ck_assert_uint_ne(a.high, b.high);
}
END_TEST

static bool is_same(struct stk_hash128 a, struct stk_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

START_TEST(a_path_by_its_names)
{
    const struct stk_hash128 above = {1, 2};
    struct stk_hash128 a = stk_hash_path("a", 1, above);
    ck_assert(is_same(stk_hash_path("", 0, above), above));
    ck_assert(is_same(stk_hash_path("a/bc", 4, above), stk_hash_path("bc", 2, a)));
    ck_assert(!is_same(stk_hash_path("a/bc", 4, above), stk_hash_path("ab/c", 4, above)));
    ck_assert(!is_same(stk_hash_path("a/a", 3, above), a));
    ck_assert(!is_same(stk_hash_path("b/a", 3, above), stk_hash_path("a/b", 3, above)));
}
END_TEST

/* Two directories may have equal lower halves: their files must not. */
START_TEST(both_halves_above_count)
{
    const struct stk_hash128 one = {1, 2}, other = {1, 3}, third = {2, 2};
    ck_assert_uint_ne(stk_hash_path("x", 1, one).high, stk_hash_path("x", 1, other).high);
    ck_assert_uint_ne(stk_hash_path("x", 1, one).low, stk_hash_path("x", 1, third).low);
}
END_TEST

Suite *suite_hash(void)
{
    Suite *suite = suite_create("hash");
    TCase *all = unit_case(suite, "hash_values");
    tcase_add_test(all, known_values);
    tcase_add_test(all, seed_and_data_count);
    tcase_add_test(all, a_path_by_its_names);
    tcase_add_test(all, both_halves_above_count);
    return suite;
}
